/** West, south, east, north in degrees; west ≤ east, both from -180 to 180. */
export interface Box {
  west: number;
  south: number;
  east: number;
  north: number;
}

const MAX_BOXES = 1_000;

/**
 * The boxes of the parts of GeoJSON geometries (RFC 7946): one for each point, line and polygon. Boxes that cross
 * the 180th meridian are cut there; boxes that touch it are found from both sides. Invalid geometries have no boxes.
 */
export function geometryBoxes(geometries: readonly unknown[]): Box[] {
  return geometries.flatMap(partsOf).flatMap(boxesOf).slice(0, MAX_BOXES);
}

type Position = readonly [longitude: number, latitude: number];

function partsOf(geometry: unknown): Position[][] {
  if (typeof geometry !== 'object' || geometry === null) return [];
  const { type, coordinates, geometries } = geometry as Record<string, unknown>;
  const list = Array.isArray(coordinates) ? coordinates : [];
  switch (type) {
    case 'Point':
      return [positions([coordinates])];
    case 'MultiPoint':
      return list.map((point) => positions([point]));
    case 'LineString':
      return [positions(list)];
    case 'MultiLineString':
      return list.map(positions);
    case 'Polygon':
      // The first ring is the outer one; holes lie within it.
      return [positions(list[0])];
    case 'MultiPolygon':
      return list.map((polygon: unknown) => positions(Array.isArray(polygon) ? polygon[0] : undefined));
    case 'GeometryCollection':
      return Array.isArray(geometries) ? geometries.flatMap(partsOf) : [];
    default:
      return [];
  }
}

function positions(list: unknown): Position[] {
  if (!Array.isArray(list)) return [];
  return list.filter(
    (item): item is Position => Array.isArray(item) && Number.isFinite(item[0]) && Number.isFinite(item[1]),
  );
}

function boxesOf(part: readonly Position[]): Box[] {
  if (part.length === 0) return [];
  let [west, east, south, north] = [Infinity, -Infinity, Infinity, -Infinity];
  for (const [longitude, latitude] of part) {
    west = Math.min(west, longitude);
    east = Math.max(east, longitude);
    south = Math.min(south, latitude);
    north = Math.max(north, latitude);
  }
  south = Math.max(south, -90);
  north = Math.min(north, 90);
  if (south > north) return [];
  return longitudeRanges(west, east).map(([from, to]) => ({ west: from, south, east: to, north }));
}

/** A range of longitudes, which may run past ±180, as ranges within them. */
function longitudeRanges(west: number, east: number): [west: number, east: number][] {
  if (east - west >= 360) return [[-180, 180]];
  const shift = Math.floor((west + 180) / 360) * 360;
  const [from, to] = [west - shift, east - shift];
  if (to > 180) {
    return [
      [from, 180],
      [-180, to - 360],
    ];
  }
  if (to === 180)
    return [
      [from, 180],
      [-180, -180],
    ];
  if (from === -180)
    return [
      [-180, to],
      [180, 180],
    ];
  return [[from, to]];
}
