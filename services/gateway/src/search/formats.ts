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
    doi: text(at(entity, 'pids', 'doi', 'identifier')),
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

function boundsOf(entity: Json): (number | '')[] {
  const points: [number, number][] = [];
  const visit = (value: unknown): void => {
    if (!Array.isArray(value)) return;
    const [longitude, latitude] = value;
    if (typeof longitude === 'number' && typeof latitude === 'number') points.push([longitude, latitude]);
    else for (const inner of value) visit(inner);
  };
  const features = at(entity, 'metadata', 'locations', 'features');
  for (const feature of Array.isArray(features) ? features : [])
    for (const part of parts(at(feature, 'geometry'))) visit(at(part, 'coordinates'));
  if (points.length === 0) return EDGES.map(() => '');
  const edge = (of: 0 | 1, choose: (a: number, b: number) => number): number =>
    points.map((point) => point[of]).reduce(choose);
  const [min, max] = [(a: number, b: number) => Math.min(a, b), (a: number, b: number) => Math.max(a, b)];
  return [edge(0, min), edge(1, min), edge(0, max), edge(1, max)];
}

/** Hits as a table of RFC 4180 with a header, several creators or licences with `; ` between them. */
export function hitsAsCsv(hits: readonly Json[]): string {
  const rows = hits.map((hit) => {
    const properties = hitProperties(hit);
    const texts = COLUMNS.map((column) => cell([properties[column] ?? ''].flat().join('; ')));
    return [...texts, ...boundsOf(hit).map(String)];
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
      return { type: 'Feature', id, geometry: geometryOf(hit), properties: { id, ...properties } };
    }),
  });
}

/** All places of an entity as one geometry; null when it has none. */
function geometryOf(entity: Json): unknown {
  const features = at(entity, 'metadata', 'locations', 'features');
  const [first, ...others] = (Array.isArray(features) ? features : []).flatMap((feature) =>
    parts(at(feature, 'geometry')),
  );
  if (first === undefined) return null;
  return others.length === 0 ? first : { type: 'GeometryCollection', geometries: [first, ...others] };
}

const SIMPLE = new Set(['Point', 'MultiPoint', 'LineString', 'MultiLineString', 'Polygon', 'MultiPolygon']);

/** Collections within each other are to be avoided, and other members of a geometry are no part of it. */
function parts(geometry: unknown): unknown[] {
  const type = at(geometry, 'type');
  if (type === 'GeometryCollection') {
    const geometries = at(geometry, 'geometries');
    return Array.isArray(geometries) ? geometries.flatMap(parts) : [];
  }
  return SIMPLE.has(String(type)) ? [{ type, coordinates: at(geometry, 'coordinates') }] : [];
}
