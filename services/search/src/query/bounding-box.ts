import { ServiceError } from '@kr/service-error';
import type { Box } from '../documents/geometry-boxes.ts';

const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d{1,3})?$/iu;

/**
 * Reads `longitude,latitude,longitude,latitude` of two opposite corners, west first. Latitudes may be in either order;
 * a west greater than the east crosses the 180th meridian and gives two boxes. Null for a blank text.
 * @throws ServiceError `invalid` for any other text
 */
export function parseBoundingBox(text: string): Box[] | null {
  if (text.trim() === '') return null;
  const parts = text.split(',', 5).map((part) => part.trim());
  const [west = NaN, firstLatitude = NaN, east = NaN, secondLatitude = NaN] = parts.map((part) =>
    NUMBER.test(part) ? Number(part) : NaN,
  );
  const isValid =
    parts.length === 4 &&
    [west, east].every((longitude) => longitude >= -180 && longitude <= 180) &&
    [firstLatitude, secondLatitude].every((latitude) => latitude >= -90 && latitude <= 90);
  if (!isValid) {
    throw new ServiceError('invalid', 'Invalid querystring parameters.', {
      members: { hint: 'bbox: give four numbers: west,south,east,north.' },
    });
  }

  const south = Math.min(firstLatitude, secondLatitude);
  const north = Math.max(firstLatitude, secondLatitude);
  if (west <= east) return [{ west, south, east, north }];
  return [
    { west, south, east: 180, north },
    { west: -180, south, east, north },
  ];
}
