import type { Entity, Location } from './entity.ts';

type SimpleGeometry = Exclude<GeoJSON.Geometry, GeoJSON.GeometryCollection>;

/** Degrees: west, south, east, north. */
export type Bounds = readonly [number, number, number, number];

export interface Place {
  name: string | undefined;
  geometries: readonly GeoJSON.Geometry[];
}

/** The places of an entity, collections of geometries unfolded. */
export function placesOf({ metadata }: Entity): Place[] {
  return (metadata.locations?.features ?? []).map((location) => ({
    name: location.place,
    geometries: geometriesOf([location]),
  }));
}

/** All simple geometries of the locations, collections unfolded. Anything that RFC 7946 does not allow is left out. */
export function geometriesOf(locations: readonly (Location | null)[]): GeoJSON.Geometry[] {
  return locations.flatMap((location) => unfold(location?.geometry));
}

/** Arrays around the positions of each simple geometry. */
const DEPTHS = new Map([
  ['Point', 0],
  ['MultiPoint', 1],
  ['LineString', 1],
  ['MultiLineString', 2],
  ['Polygon', 2],
  ['MultiPolygon', 3],
]);

function unfold(geometry: unknown): SimpleGeometry[] {
  if (typeof geometry !== 'object' || geometry === null) return [];
  const { type = '', geometries, coordinates } = geometry as Record<string, unknown>;
  if (type === 'GeometryCollection') return Array.isArray(geometries) ? geometries.flatMap(unfold) : [];
  const depth = DEPTHS.get(String(type));
  return depth !== undefined && holdsPositions(coordinates, depth)
    ? [{ type, coordinates } as SimpleGeometry]
    : [];
}

function holdsPositions(value: unknown, depth: number): boolean {
  if (!Array.isArray(value)) return false;
  if (depth > 0) return value.every((inner) => holdsPositions(inner, depth - 1));
  const [longitude, latitude] = value;
  return typeof longitude === 'number' && typeof latitude === 'number';
}

/** The points of point geometries. */
export function pointsOf(geometries: readonly GeoJSON.Geometry[]): GeoJSON.Position[] {
  return geometries.flatMap((geometry) => {
    if (geometry.type === 'Point') return [geometry.coordinates];
    return geometry.type === 'MultiPoint' ? geometry.coordinates : [];
  });
}

/** The box around all geometries; undefined without coordinates. */
export function boundsOf(geometries: readonly GeoJSON.Geometry[]): Bounds | undefined {
  let [west, south, east, north] = [Infinity, Infinity, -Infinity, -Infinity];
  const visit = (coordinates: unknown): void => {
    if (!Array.isArray(coordinates)) return;
    const [lon, lat] = coordinates;
    if (typeof lon === 'number' && typeof lat === 'number') {
      west = Math.min(west, lon);
      east = Math.max(east, lon);
      south = Math.min(south, lat);
      north = Math.max(north, lat);
    } else for (const item of coordinates) visit(item);
  };
  for (const geometry of geometries) if ('coordinates' in geometry) visit(geometry.coordinates);
  return west <= east && south <= north ? [west, south, east, north] : undefined;
}

/** One geometry for all, as GeoJSON features have it; null without any. */
export function combinedGeometry(geometries: readonly GeoJSON.Geometry[]): GeoJSON.Geometry | null {
  if (geometries.length > 1) return { type: 'GeometryCollection', geometries: [...geometries] };
  return geometries[0] ?? null;
}
