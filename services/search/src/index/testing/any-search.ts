import fc from 'fast-check';
import type { EntityKind } from '../../documents/entity.ts';
import type { Viewer } from '../../engine/search-engine.ts';
import type { SearchTraits } from './a-search.ts';
import type { EntityTraits } from './an-entity.ts';

/** Few and alike, so that most are in several documents, near one another, and like one another. */
const WORDS = [
  ...['flood', 'floods', 'floor', 'blood', 'risk', 'map', 'maps', 'of', 'soil', 'Römäns’', "o'brien", '10.5'],
  ...[
    '1,000',
    'v1.2',
    'GEO-BON',
    '日本',
    'ÇİĞ',
    'straße',
    'a',
    'R2D2',
    '10.1234/abc-Def',
    'http://x.org/?a=1',
  ],
] as const;
const SUBJECTS = [
  'soil',
  'soil water',
  'Flood',
  'x=y',
  'a::b',
  'ice & snow',
  'ü',
  's1',
  's2',
  's3',
  's4',
  's5',
] as const;
const TYPES = ['dataset', 'image-photo', 'image-plot', 'software', 'publication-article', 'other'] as const;
const DATES = ['2019', '2020-05/2021-06', '2020-05', '2021-02-28', '0000-03', '9999', 'soon'] as const;
const OWNERS = ['ann', 'ben'] as const;
const FACETS = [
  ...['category', 'record_type', 'resource_type', 'base_type', 'subject', 'language'],
  ...['access_status', 'is_published', 'target_audience'],
] as const;

const word = fc.constantFrom(...WORDS);
const text = (most: number) => fc.array(word, { maxLength: most }).map((words) => words.join(' '));
const some = <Item>(items: readonly Item[], most: number) =>
  fc.uniqueArray(fc.constantFrom(...items), { maxLength: most });
const degrees = (most: number) => fc.integer({ min: -most * 2, max: most * 2 }).map((half) => half / 2);
const position = fc.tuple(degrees(200), degrees(90));

const geometry = fc.oneof(
  position.map((coordinates) => ({ type: 'Point', coordinates })),
  fc.array(position, { maxLength: 4 }).map((coordinates) => ({ type: 'MultiPoint', coordinates })),
  fc
    .array(position, { minLength: 2, maxLength: 4 })
    .map((ring) => ({ type: 'Polygon', coordinates: [ring] })),
  fc.constant({ type: 'Polygon', coordinates: 'x' }),
);

const PARENTS = Array.from({ length: 25 }, (_, index) => `p-${index}`);

const document: fc.Arbitrary<Omit<EntityTraits, 'id'>> = fc.record(
  {
    kind: fc.constantFrom('record', 'record', 'package'),
    form: fc.constantFrom('published', 'published', 'draft'),
    parentId: fc.constantFrom(...PARENTS),
    managedBy: fc.constantFrom(...PARENTS),
    ownerId: fc.constantFrom(...OWNERS),
    access: fc.constantFrom('public', 'public', 'restricted'),
    embargoUntil: fc.constantFrom('2025-06-01', '2026-06-01', '9999-12-31'),
    versionIndex: fc.integer({ min: 1, max: 4 }),
    createdAt: fc.constantFrom(0, 1, 1_577_836_800, 1_577_836_801, 1_700_000_000),
    updatedAt: fc.constantFrom(5, 1_577_836_800, 1_700_000_000),
    title: text(5),
    resourceType: fc.constantFrom(...TYPES),
    geometry,
    metadata: fc.record(
      {
        description: text(12).map((words) => `<p>${words} &amp; <b>${words}</b></p>`),
        publication_date: fc.constantFrom(...DATES),
        publisher: fc.constantFrom('GEO', 'Brown University'),
        version: fc.constantFrom('v1.2', '10', '2'),
        subjects: some(SUBJECTS, 7).map((subjects) => subjects.map((subject) => ({ subject }))),
        languages: some(['eng', 'deu', 'por'], 2).map((ids) => ids.map((id) => ({ id, title: { en: id } }))),
        creators: fc
          .array(text(2), { maxLength: 2 })
          .map((names) => names.map((name) => ({ person_or_org: { type: 'personal', name } }))),
        rights: fc.constantFrom([
          { id: 'cc-by-4.0', description: { 'e n': 'flood map', en: 'risk of flood' } },
        ]),
        'odd key': fc.constantFrom('flood', 'a\u0000b', '\ud800', 7, true, null, ['x', 'y']),
      },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: ['kind', 'form', 'versionIndex', 'createdAt'] },
);

/** Forms of entities that differ in all respects that listings distinguish; each form exists once. */
export function anyCorpus(seed: number, size: number): EntityTraits[] {
  const all = fc.sample(document, { seed, numRuns: size });
  return all.map((traits, index): EntityTraits => {
    const before = all[index - 1];
    if (traits.form !== 'draft' || before?.form !== 'published') return { ...traits, id: `e-${index}` };
    const { kind, parentId = `parent-of-e-${index - 1}` } = before;
    return { ...traits, id: `e-${index - 1}`, kind: kind ?? 'record', parentId };
  });
}

/** Texts in the query language, valid or almost valid. */
const value = fc.oneof(
  { weight: 6, arbitrary: word.map((one) => one.replace(/[:/?]/gu, '\\$&')) },
  fc.array(word, { minLength: 1, maxLength: 4 }).map((words) => `"${words.join(' ')}"`),
  fc.tuple(word, word, fc.nat(4)).map(([one, other, slop]) => `"${one} ${other}"~${slop}`),
  fc.constantFrom(
    'flo*',
    'flo?d',
    'map?',
    'ris*k',
    'geo-bon*',
    'geo-bon?',
    'flo*d*',
    '10.1234*',
    'soi\\**',
    'FLO*',
    'röm*',
  ),
  fc
    .tuple(
      fc.constantFrom('flood', 'maps', 'sil', 'romans', 'risk', 'R2D3'),
      fc.constantFrom('~', '~1', '~2', '~0'),
    )
    .map(([one, distance]) => one + distance),
);

const exactField = fc.oneof(
  fc
    .tuple(fc.constantFrom('id', 'resource_type', 'language', 'version', 'access.status'), word)
    .map(([field, one]) => `${field}:"${one}"`),
  fc.constantFrom(
    ...['id:e-7', 'id:(e-1 OR e-2)', 'parent.id:"p-3"', 'parent.type:package', 'resource_type:image-*'],
    ...['resource_type:dataset', 'languages:eng', 'version:[1 TO 3]', 'version:>=10', 'access.record:public'],
    ...[
      'is_published:true',
      'is_published:false',
      'metadata.title.keyword:"flood"',
      'metadata.subjects.subject.keyword:soil*',
    ],
    ...[
      '_exists_:metadata.version',
      '_exists_:creators',
      'NOT _exists_:metadata.rights',
      'nosuch:1',
      'title:*',
    ],
    ...[
      'metadata.odd\\ key:flood',
      'metadata.odd\\ key:ab',
      'metadata.odd\\ key:7',
      '_exists_:"metadata.odd key"',
    ],
    ...['metadata.rights.description.e\\ n:flood', 'metadata.rights.description.en:"risk of flood"'],
  ),
);

const range = fc
  .tuple(
    fc.constantFrom(
      'created',
      'updated',
      'versions.index',
      'publication_date',
      'title',
      'publisher',
      'metadata.publication_date_range',
    ),
    fc.constantFrom(
      '*',
      '1',
      '2',
      '2019',
      '2020-01-01',
      '2020-05',
      '2021',
      '0000',
      '9999',
      'b',
      'flood',
      '"risk m"',
    ),
    fc.constantFrom('*', '3', '2020', '2020-01-01T00:00:00Z', '2020-06', '2023-11', '9999', 'map', 'zz'),
    fc.constantFrom('[]', '{}', '[}', '{]'),
  )
  .map(([field, lower, upper, [opens, closes]]) => `${field}:${opens}${lower} TO ${upper}${closes}`);
const comparison = fc
  .tuple(
    fc.constantFrom('created', 'versions.index', 'publication_date', 'title'),
    fc.constantFrom('>', '>=', '<', '<='),
    fc.constantFrom('2', '2020', '2020-05', '2020-01-01', 'map'),
  )
  .map((parts) => parts.join('').replace(/([<>])/u, ':$1'));

const clause = fc.oneof(
  { weight: 5, arbitrary: value },
  fc
    .tuple(
      fc.constantFrom('title', 'description', 'creators', 'keywords', 'metadata.languages.title.en', '*'),
      value,
    )
    .map(([field, inner]) => `${field}:${inner}`),
  exactField,
  range,
  comparison,
  fc.constantFrom('*', '"..."', '&', 'title:(flood OR maps)', 'title:(+flood -risk)'),
);
const boosted = fc
  .tuple(clause, fc.constantFrom('', '', '', '^2', '^0.5', '^0'))
  .map((parts) => parts.join(''));

const { query } = fc.letrec<{ query: string; part: string }>((tie) => ({
  part: fc.oneof(
    { maxDepth: 3 },
    { weight: 4, arbitrary: boosted },
    { weight: 1, arbitrary: tie('query').map((inner) => `(${inner})`) },
  ),
  query: fc
    .array(
      fc.tuple(
        fc.constantFrom('', '', '', '+', '-', 'NOT '),
        tie('part'),
        fc.constantFrom(' ', ' ', ' AND ', ' OR '),
      ),
      { minLength: 1, maxLength: 4 },
    )
    .map((parts) =>
      parts
        .map((part) => part.join(''))
        .join('')
        .replace(/ (?:AND |OR )?$/u, ''),
    ),
}));

const viewer: fc.Arbitrary<Partial<Viewer>> = fc.record(
  {
    seesAll: fc.constantFrom(false, false, true),
    userId: fc.constantFrom(...OWNERS),
    viewParentIds: some(PARENTS, 3),
    previewParentIds: some(PARENTS, 3),
  },
  { requiredKeys: [] },
);

const ids = Array.from({ length: 40 }, (_, index) => `e-${index}`);

const box = fc
  .tuple(degrees(180), degrees(90), degrees(180), degrees(90))
  // Not at the edge: the engines need not agree on the last millionth of a degree.
  .map(([west, north, east, south]) => [west / 1.01, north / 1.01, east / 1.01, south / 1.01].join());

/** Mostly the first. */
const seldom = <Item>(usual: Item, other: fc.Arbitrary<Item>): fc.Arbitrary<Item> =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: other });

const chosen = (facet: string, values: readonly string[]) =>
  some(values, 3).map((list) => ({ [facet]: list }));

/** A search of any kind, of which many find something. */
export const anySearch: fc.Arbitrary<SearchTraits> = fc.record({
  q: fc.oneof({ weight: 5, arbitrary: query }, fc.constant('')),
  bbox: seldom('', box),
  viewer: fc.oneof(fc.constant({}), fc.constant({ seesAll: true }), viewer),
  scope: fc
    .record({
      forms: fc.constantFrom('published' as const, 'published' as const, 'own' as const, 'either' as const),
      kinds: fc.constantFrom<EntityKind[]>(['record', 'package'], ['record'], ['package']),
      latestOnly: fc.boolean(),
      onlyIds: seldom<string[] | null>(null, some(ids, 40)),
      published: fc.integer({ min: 0, max: 5 }),
    })
    .map(({ published, ...scope }) => ({
      ...scope,
      publishedIds: (scope.onlyIds ?? []).slice(0, published),
    })),
  sort: fc.constantFrom('bestmatch', 'newest', 'oldest', 'version', 'updated-desc', 'updated-asc'),
  offset: fc.constantFrom(0, 0, 3),
  limit: fc.constantFrom(1_000, 1_000, 5),
  facets: some(FACETS, FACETS.length),
  selected: seldom<Record<string, string[]>>(
    {},
    fc.oneof(
      chosen('subject', [...SUBJECTS, 'nosuch', 'x\u0000=y']),
      chosen('resource_type', ['image', 'image::image-photo', 'dataset', 'other::x']),
      chosen('record_type', ['package', 'resource']),
      chosen('access_status', ['metadata-only', 'embargoed', 'restricted']),
    ),
  ),
  now: fc.constantFrom(new Date('2025-06-01T00:00:00Z'), new Date('2026-06-01T00:00:00Z')),
});
