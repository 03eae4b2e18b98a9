import { oneOf } from '@kr/testbed';
import { packageDocument, recordDocument } from '../e2e/story/documents.ts';
import { ACCESS, type Access, type Collection } from './states.ts';

/** Words of titles, descriptions and subjects, of public and hidden entities. */
const WORDS = [
  'soil',
  'water',
  'flood',
  'risk',
  'map',
  'forest',
  'fire',
  'coast',
  'erosion',
  'glacier',
  'ice-core',
  'delta',
  'river',
  'drought',
  'crop',
  'yield',
  'urban',
  'heat',
  'ação',
  'sea level',
] as const;
/** Words that only what is hidden has. */
const HIDDEN_WORDS = ['quagga', 'thylacine'] as const;
const SUBJECTS = ['Hydrology', 'Ecology', 'Climate', 'Agriculture'] as const;
const TYPES = ['dataset', 'image-photo', 'software', 'publication-article'] as const;
const LANGUAGES = ['eng', 'deu', 'por'] as const;

const isOneWord = (text: string): boolean => /^\p{L}+$/u.test(text);

type Random = () => number;

const some = <Item>(random: Random, items: readonly Item[], most: number): Item[] =>
  Array.from({ length: 1 + Math.floor(random() * most) }, () => oneOf(random, items));

/** A document of words that others have too. */
export function chanceDocument(
  random: Random,
  collection: Collection,
  { access, isHidden }: { access: Access; isHidden: boolean },
): object {
  const words = [...some(random, WORDS, 4), ...(isHidden ? [oneOf(random, HIDDEN_WORDS)] : [])];
  const year = 1990 + Math.floor(random() * 40);
  const metadata = {
    description: `<p>${some(random, WORDS, 6).join(' ')}</p>`,
    publication_date: `${year}-0${1 + Math.floor(random() * 9)}-11`,
    subjects: [...new Set(some(random, SUBJECTS, 2))].map((subject) => ({ subject })),
    languages: [{ id: oneOf(random, LANGUAGES) }],
    ...(collection === 'records' ? { resource_type: { id: oneOf(random, TYPES) } } : {}),
    locations: {
      features: [
        {
          geometry: { type: 'Point', coordinates: [round(random() * 360 - 180), round(random() * 180 - 90)] },
        },
      ],
    },
  };
  const document = collection === 'records' ? recordDocument : packageDocument;
  return { ...document(words.join(' '), { metadata }), access: ACCESS[access] };
}

const round = (degrees: number): number => Math.round(degrees * 100) / 100;

export interface Asked {
  target: string;
  accept: string;
}

/** Searches of a caller who looks for hidden entities. */
export function chanceQuestion(random: Random, ids: readonly string[]): Asked {
  if (random() < 0.15) return { target: `/api/search/suggest?${typed(random)}`, accept: 'application/json' };
  const accept = random() < 0.8 ? 'application/json' : oneOf(random, ['text/csv', 'application/geo+json']);
  return { target: chanceSearch(random, ids), accept };
}

function typed(random: Random): URLSearchParams {
  const word = oneOf(random, [...WORDS, ...HIDDEN_WORDS, ...SUBJECTS, 'Moreau']);
  const parameters = new URLSearchParams({ q: word.slice(0, 1 + Math.floor(random() * word.length)) });
  parameters.set('type', oneOf(random, ['title', 'title', 'creator', 'subject']));
  if (random() < 0.5) parameters.set('size', String(1 + Math.floor(random() * 20)));
  return parameters;
}

function chanceSearch(random: Random, ids: readonly string[]): string {
  const parameters = new URLSearchParams();
  const isByCursor = random() < 0.2;
  if (random() < 0.85) parameters.set('q', clause(random, ids, 2));
  for (const [name, values] of Object.entries(FACETS))
    if (random() < 0.12) parameters.set(name, oneOf(random, values));
  const sorts = ['newest', 'oldest', 'version', ...(isByCursor ? [] : ['bestmatch'])];
  if (random() < 0.4) parameters.set('sort', oneOf(random, sorts));
  if (random() < 0.6) parameters.set('size', String(1 + Math.floor(random() * 12)));
  if (isByCursor) parameters.set('cursor', '*');
  else if (random() < 0.2) parameters.set('page', String(1 + Math.floor(random() * 3)));
  if (random() < 0.15) parameters.set('bbox', box(random));
  if (random() < 0.2) parameters.set('allversions', 'true');
  return `${oneOf(random, ['/api/search', '/api/records', '/api/packages'])}?${parameters}`;
}

const FACETS = {
  subject: SUBJECTS,
  resource_type: ['dataset', 'image', 'image::image-photo', 'software', 'publication'],
  record_type: ['resource', 'package'],
  category: ['open'],
} as const;

function box(random: Random): string {
  const [west, north, east, south] = [
    random() * 360 - 180,
    random() * 180 - 90,
    random() * 360 - 180,
    random() * 180 - 90,
  ].map(round);
  return [west, north, east, south].join();
}

function clause(random: Random, ids: readonly string[], depth: number): string {
  const inner = () => clause(random, ids, depth - 1);
  const word = () => oneOf(random, [...WORDS, ...HIDDEN_WORDS]).replaceAll(' ', ' AND ');
  const plain: (() => string)[] = [
    word,
    word,
    () => `"${word()}"`,
    () => `${word().slice(0, 3)}*`,
    () => `${oneOf(random, [...WORDS, ...HIDDEN_WORDS].filter(isOneWord)).slice(0, -1)}~2`,
    () => `title:${oneOf(random, HIDDEN_WORDS)}x~`,
    () => `metadata.title:${oneOf(random, HIDDEN_WORDS)}`,
    () => `metadata.title:${oneOf(random, ['soil', 'water', 'map'])}`,
    () => `metadata.resource_type.id:${oneOf(random, TYPES)}`,
    () => `access.record:${oneOf(random, ['public', 'restricted'])}`,
    () => `access.status:${oneOf(random, ['open', 'restricted', 'embargoed', 'metadata-only'])}`,
    () => `is_published:${oneOf(random, ['true', 'false'])}`,
    () => `_exists_:${oneOf(random, ['access.embargo.until', 'expires_at', 'metadata.locations', 'errors'])}`,
    () => `id:"${oneOf(random, ids)}"`,
    () => `parent.id:"${oneOf(random, ids)}"`,
    () => `"${oneOf(random, ids)}"`,
    () => `metadata.publication_date:[${1990 + Math.floor(random() * 40)} TO 2031]`,
    () => `created:>2020-01-01`,
    () => '*',
  ];
  if (depth === 0 || random() < 0.45) return oneOf(random, plain)();
  const joined = oneOf(random, [' AND ', ' OR ', ' ', ' NOT ']);
  return `(${inner()}${joined}${inner()})`;
}
