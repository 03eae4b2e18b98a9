import type { Json } from '../rendering/entity-json.ts';
import type { Links } from '../rendering/links.ts';
import { at, hitProperties } from './hit-properties.ts';

interface Found {
  hits: { hits: readonly Json[]; total: number };
  links: Links;
}

/**
 * A page of hits as a FeatureCollection (RFC 7946), one feature for each hit, with the members by which OGC API Features
 * tells of pages.
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
