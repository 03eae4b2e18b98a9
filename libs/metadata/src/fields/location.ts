import { MESSAGES, type Report } from '../report.ts';
import { type Field, isObject, type JsonObject } from './field.ts';
import { identifiers, LOCATION_SCHEMES } from './identifier.ts';
import { list } from './list.ts';
import { recordOf } from './record-of.ts';
import { text } from './text.ts';

/** `{features: [{geometry, place, identifiers, description}]}` with GeoJSON geometries (RFC 7946, section 3.1). */
export const locations = recordOf({
  features: {
    field: list(
      recordOf(
        {
          geometry: { field: geometry() },
          place: { field: text() },
          identifiers: { field: identifiers(LOCATION_SCHEMES) },
          description: { field: text() },
        },
        {
          derived: ['centroid'],
          whole: (checked, _path, _report, sent) => (Object.keys(sent).length === 0 ? undefined : checked),
        },
      ),
    ),
    required: true,
  },
});

/** How deep the numbers of each geometry type lie, and the rule for one array at that depth. */
const SHAPES: Record<string, (coordinates: unknown) => boolean> = {
  Point: isPosition,
  MultiPoint: (value) => isListOf(value, isPosition),
  LineString: isLine,
  MultiLineString: (value) => isListOf(value, isLine),
  Polygon: isPolygon,
  MultiPolygon: (value) => isListOf(value, isPolygon),
};

function isListOf(value: unknown, isItem: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isItem);
}

function isPosition(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    (value.length === 2 || value.length === 3) &&
    value.every((part) => typeof part === 'number' && Number.isFinite(part))
  );
}

/** Whether all positions of well-formed coordinates are on the globe. */
function isOnGlobe(coordinates: unknown): boolean {
  if (!isPosition(coordinates)) return Array.isArray(coordinates) && coordinates.every(isOnGlobe);
  const [longitude = 0, latitude = 0] = coordinates as number[];
  return Math.abs(longitude) <= 180 && Math.abs(latitude) <= 90;
}

function isLine(value: unknown): boolean {
  return isListOf(value, isPosition) && (value as unknown[]).length >= 2;
}

function isPolygon(value: unknown): boolean {
  return isListOf(value, isRing) && (value as unknown[]).length >= 1;
}

function isRing(value: unknown): boolean {
  if (!isListOf(value, isPosition)) return false;
  const ring = value as number[][];
  const [first, last] = [ring[0], ring.at(-1)];
  return ring.length >= 4 && first?.[0] === last?.[0] && first?.[1] === last?.[1];
}

/** GeoJSON (RFC 7946, section 3.1) without members of other vocabularies. */
export interface Geometry {
  type: string;
  coordinates?: unknown;
  geometries?: readonly Geometry[];
}

function geometry(): Field<Geometry> {
  return {
    describes: { is: 'geometry' },
    check: (value, path, report) => checkGeometry(value, path, report, { isMember: false }),
    render: (checked) => {
      if (!isObject(checked)) return checked;
      const { coordinates, type, ...rest } = checked;
      return coordinates === undefined ? checked : { coordinates, type, ...rest };
    },
  };
}

function checkGeometry(
  value: unknown,
  path: string,
  report: Report,
  { isMember }: { isMember: boolean },
): unknown {
  if (!isObject(value)) {
    if (value === null) report.add(path, MESSAGES.nil);
    else report.add(`${path}._schema`, MESSAGES.notObject);
    return value;
  }
  const { type } = value;
  if (type === undefined) report.add(`${path}.type`, MESSAGES.missing);
  else if (typeof type !== 'string') report.add(`${path}.type`, MESSAGES.notText);
  else if (type === 'GeometryCollection' && !isMember) return checkCollection(value, path, report);
  else if (!Object.hasOwn(SHAPES, type)) report.add(`${path}.type`, `Unsupported value: ${type}`);
  else if (value['coordinates'] === undefined) report.add(`${path}.coordinates`, MESSAGES.missing);
  else if (!SHAPES[type]?.(value['coordinates']))
    report.add(`${path}.coordinates`, `Not valid coordinates of a ${type}.`);
  else if (!isOnGlobe(value['coordinates']))
    report.add(`${path}.coordinates`, 'Longitude must be between -180 and 180, latitude between -90 and 90.');
  else return { type, coordinates: value['coordinates'] };
  return value;
}

function checkCollection(value: JsonObject, path: string, report: Report): JsonObject {
  const members = value['geometries'];
  if (!Array.isArray(members)) {
    report.add(`${path}.geometries`, members === undefined ? MESSAGES.missing : MESSAGES.notList);
    return value;
  }
  return {
    type: 'GeometryCollection',
    geometries: members.map((member, index) =>
      checkGeometry(member, `${path}.geometries.${index}`, report, { isMember: true }),
    ),
  };
}
