import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Bounds } from '@kr/formats';
import { geoEquirectangular, geoPath } from 'd3-geo';
import { LRUCache } from 'lru-cache';
import { feature } from 'topojson-client';

const require = createRequire(import.meta.url);

/** Outlines of the continents (Natural Earth, public domain) at 1:110 million and 1:50 million. */
const COARSE = loadLand('land-110m');
const FINE = loadLand('land-50m');

/** Extents narrower than this many degrees show the fine outline. */
const FINE_BELOW = 90;

/** Drawing takes milliseconds, and many pages show the same part of the world. */
const drawn = new LRUCache<string, string>({
  maxSize: 8_388_608,
  sizeCalculation: ({ length }) => length + 1,
});

/** SVG path of the land inside the bounds, in degrees with y pointing down. */
export function landPath(bounds: Bounds): string {
  const key = bounds.join();
  const path = drawn.get(key) ?? draw(bounds);
  drawn.set(key, path);
  return path;
}

function draw([west, south, east, north]: Bounds): string {
  const land = east - west < FINE_BELOW ? FINE : COARSE;
  const near = land.filter(
    ({ box }) => box[0] <= east && box[2] >= west && box[1] <= north && box[3] >= south,
  );
  const projection = geoEquirectangular()
    .scale(180 / Math.PI)
    .translate([0, 0])
    .precision(0)
    .clipExtent([
      [west, -north],
      [east, -south],
    ]);
  const pathOf = geoPath(projection).digits(east - west < FINE_BELOW ? 2 : 1);
  return near.map(({ shape }) => pathOf(shape) ?? '').join('');
}

interface Piece {
  shape: GeoJSON.Polygon;
  box: Bounds;
}

function loadLand(name: string): Piece[] {
  const topology = JSON.parse(
    readFileSync(require.resolve(`world-atlas/${name}.json`), 'utf8'),
  ) as Parameters<typeof feature>[0];
  const land = topology.objects['land'];
  if (land === undefined) throw new Error(`world-atlas/${name}.json has no land`);
  const collection = feature(topology, land) as GeoJSON.FeatureCollection<GeoJSON.MultiPolygon>;
  return collection.features.flatMap(({ geometry }) =>
    geometry.coordinates.map((coordinates) => ({
      shape: { type: 'Polygon' as const, coordinates },
      box: boxOf(coordinates[0] ?? []),
    })),
  );
}

function boxOf(points: readonly GeoJSON.Position[]): Bounds {
  const longitudes = points.map(([lon = 0]) => lon);
  const latitudes = points.map(([, lat = 0]) => lat);
  return [Math.min(...longitudes), Math.min(...latitudes), Math.max(...longitudes), Math.max(...latitudes)];
}
