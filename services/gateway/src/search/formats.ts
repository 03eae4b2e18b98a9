import { boundsOf, combinedGeometry, geometriesOf, isRegistered } from '@kr/formats';
import type { Json } from '../rendering/entity-json.ts';
import type { Links } from '../rendering/links.ts';

/** The properties of an entity in a row or a feature. */
export interface HitProperties {
  id: string;
  doi: string | null;
  title: string | null;
  creators: string[];
  publication_date: string | null;
  resource_type: string | null;
  access_status: string | null;
  url: string | null;
  licences: string[];
}

/** Of the public document of an entity. Drafts may lack anything, or have something else in its place. */
function hitProperties(entity: Json): HitProperties {
  const creators = at(entity, 'metadata', 'creators');
  const rights = at(entity, 'metadata', 'rights');
  return {
    id: text(at(entity, 'id')) ?? '',
    doi: registeredDoi(entity),
    title: text(at(entity, 'metadata', 'title')),
    creators: (Array.isArray(creators) ? creators : []).flatMap(
      (creator) => text(at(creator, 'person_or_org', 'name')) ?? [],
    ),
    publication_date: text(at(entity, 'metadata', 'publication_date')),
    resource_type: text(at(entity, 'metadata', 'resource_type', 'id')),
    access_status: text(at(entity, 'access', 'status')),
    url: text(at(entity, 'links', 'self')),
    licences: (Array.isArray(rights) ? rights : []).flatMap(
      (right) => text(at(right, 'id')) ?? text(at(right, 'link')) ?? [],
    ),
  };
}

/** A DOI that is not registered identifies nothing for others. */
function registeredDoi(entity: Json): string | null {
  const doi = at(entity, 'pids', 'doi');
  const [identifier, provider, state] = ['identifier', 'provider', 'state'].map((name) =>
    text(at(doi, name)),
  );
  if (!identifier) return null;
  return isRegistered({ provider: provider ?? '', state: state ?? '' }) ? identifier : null;
}

/** The value below these names; undefined where they do not lead anywhere. */
function at(value: unknown, ...names: readonly string[]): unknown {
  return names.reduce<unknown>(
    (inner, name) =>
      typeof inner === 'object' && inner !== null && Object.hasOwn(inner, name)
        ? (inner as Json)[name]
        : undefined,
    value,
  );
}

function text(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

const COLUMNS = [
  'id',
  'doi',
  'title',
  'creators',
  'publication_date',
  'resource_type',
  'access_status',
  'url',
  'licences',
] as const satisfies (keyof HitProperties)[];

/** Degrees around all places of an entity; empty without places. */
const EDGES = ['west', 'south', 'east', 'north'];

function geometriesIn(entity: Json): GeoJSON.Geometry[] {
  const features = at(entity, 'metadata', 'locations', 'features');
  return geometriesOf(Array.isArray(features) ? features : []);
}

/** Hits as a table of RFC 4180 with a header, several creators or licences with `; ` between them. */
export function hitsAsCsv(hits: readonly Json[]): string {
  const rows = hits.map((hit) => {
    const properties = hitProperties(hit);
    const texts = COLUMNS.map((column) => cell([properties[column] ?? ''].flat().join('; ')));
    const bounds = boundsOf(geometriesIn(hit)) ?? EDGES.map(() => '');
    return [...texts, ...bounds.map(String)];
  });
  return [[...COLUMNS, ...EDGES], ...rows].map((row) => `${row.join(',')}\r\n`).join('');
}

/**
 * Where spreadsheets see a formula begin: at the start of a cell, also behind blanks and with full-width signs, and behind a separator
 * of cells other than the comma, which some readers take for the end of a cell inside quotes too.
 */
const FORMULA = /(?=[=+\-@＝＋－＠])(?<=(?:^|[;\t\r\n])[^\S\t\r\n]*)|^(?=[\t\r\n])/gu;

function cell(value: string): string {
  const plain = value.replace(FORMULA, "'");
  return /[",;\t\r\n]/.test(plain) || plain !== plain.trim() ? `"${plain.replaceAll('"', '""')}"` : plain;
}

interface Found {
  hits: { hits: readonly Json[]; total: number };
  links: Links;
}

/**
 * A page of hits as a FeatureCollection (RFC 7946), one feature for each hit, with the paging members of OGC API
 * Features.
 */
export function hitsAsGeojson({ hits, links }: Found): string {
  return JSON.stringify({
    type: 'FeatureCollection',
    numberMatched: hits.total,
    numberReturned: hits.hits.length,
    links: Object.entries(links).map(([rel, href]) => ({ rel, href, type: 'application/geo+json' })),
    features: hits.hits.map((hit) => {
      const { id, ...properties } = hitProperties(hit);
      return {
        type: 'Feature',
        id,
        geometry: combinedGeometry(geometriesIn(hit)),
        properties: { id, ...properties },
      };
    }),
  });
}
