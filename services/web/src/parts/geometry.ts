import type { Location } from '../api/documents.ts';

/** Degrees: west, south, east, north. */
export type Bounds = readonly [number, number, number, number];

/** Draws geometries on a plane of degrees, y pointing down, with two decimals (about a kilometre). */
export function pathOf(geometry: GeoJSON.Geometry): string {
  switch (geometry.type) {
    case 'LineString':
      return line(geometry.coordinates);
    case 'MultiLineString':
      return geometry.coordinates.map(line).join('');
    case 'Polygon':
      return geometry.coordinates.map(ring).join('');
    case 'MultiPolygon':
      return geometry.coordinates.flat().map(ring).join('');
    default:
      return '';
  }
}

function line(points: readonly GeoJSON.Position[]): string {
  return points
    .map(([lon = 0, lat = 0], index) => `${index === 0 ? 'M' : 'L'}${at(lon)} ${at(-lat)}`)
    .join('');
}

function ring(points: readonly GeoJSON.Position[]): string {
  return `${line(points)}Z`;
}

function at(degrees: number): number {
  return Math.round(degrees * 100) / 100;
}

/** All simple geometries of the places, collections unfolded. */
export function geometriesOf(places: readonly Location[]): GeoJSON.Geometry[] {
  return places.flatMap(({ geometry }) => (geometry === undefined ? [] : unfold(geometry)));
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
