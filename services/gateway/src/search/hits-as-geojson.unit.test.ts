import { describe, expect, test } from '@jest/globals';
import { hitsAsGeojson } from './formats.ts';

const POINT = { type: 'Point', coordinates: [10, 50] };
const LINE = {
  type: 'LineString',
  coordinates: [
    [1, 2],
    [3, 4],
  ],
};

const geometryOf = (features: unknown): unknown => {
  const hit = { id: 'a', metadata: { locations: { features } } };
  return JSON.parse(hitsAsGeojson({ hits: { hits: [hit], total: 1 }, links: {} })).features[0].geometry;
};

describe('features of hits', () => {
  test('have the columns of the table for each hit, and the position of the page', () => {
    const hit = {
      id: 'a',
      links: { self: 'http://h/api/records/a' },
      metadata: { title: 'Floods', creators: [{ person_or_org: { name: 'GEO' } }] },
    };
    const links = { self: 'http://h/api/search?page=1', next: 'http://h/api/search?page=2' };
    expect(JSON.parse(hitsAsGeojson({ hits: { hits: [hit], total: 30 }, links }))).toEqual({
      type: 'FeatureCollection',
      numberMatched: 30,
      numberReturned: 1,
      links: [
        { rel: 'self', href: links.self, type: 'application/geo+json' },
        { rel: 'next', href: links.next, type: 'application/geo+json' },
      ],
      features: [
        {
          type: 'Feature',
          id: 'a',
          geometry: null,
          properties: {
            id: 'a',
            doi: null,
            title: 'Floods',
            creators: ['GEO'],
            publication_date: null,
            resource_type: null,
            access_status: null,
            url: 'http://h/api/records/a',
            licences: [],
          },
        },
      ],
    });
  });

  test.each<[what: string, features: unknown, geometry: unknown]>([
    ['one place', [{ geometry: POINT, place: 'x' }], POINT],
    [
      'several',
      [{ geometry: POINT }, { place: 'nowhere' }, { geometry: LINE }],
      { type: 'GeometryCollection', geometries: [POINT, LINE] },
    ],
    [
      'collections within each other',
      [
        {
          geometry: {
            type: 'GeometryCollection',
            geometries: [POINT, { type: 'GeometryCollection', geometries: [LINE] }],
          },
        },
      ],
      { type: 'GeometryCollection', geometries: [POINT, LINE] },
    ],
    ['further members', [{ geometry: { ...POINT, crs: 'x' } }], POINT],
    ['no place', [], null],
    ['nothing of the kind', [{ geometry: { type: 'Circle' } }, { geometry: null }, null], null],
    ['no list', 'x', null],
  ])('have the geometry of %s', (_, features, geometry) => {
    expect(geometryOf(features)).toEqual(geometry);
  });
});
