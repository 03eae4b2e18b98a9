import type { Entity, Location } from './entity.ts';

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

/** All simple geometries of the locations, collections unfolded. */
export function geometriesOf(locations: readonly Location[]): GeoJSON.Geometry[] {
  return locations.flatMap(({ geometry }) => (geometry === undefined ? [] : unfold(geometry)));
}

function unfold(geometry: GeoJSON.Geometry): GeoJSON.Geometry[] {
  return geometry.type === 'GeometryCollection' ? geometry.geometries.flatMap(unfold) : [geometry];
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

/** One geometry for all places, as GeoJSON features have it; null without any. */
export function geometryOf(entity: Entity): GeoJSON.Geometry | null {
  const geometries = placesOf(entity).flatMap((place) => place.geometries);
  if (geometries.length > 1) return { type: 'GeometryCollection', geometries: [...geometries] };
  return geometries[0] ?? null;
}
