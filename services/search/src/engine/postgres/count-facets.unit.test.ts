import { describe, expect, test } from '@jest/globals';
import type { FacetValue } from './facets.ts';
import { countFacets, countNumbers, facetEntry, facetSets, readFacetEntry } from './facets.ts';

describe('numbers in a text', () => {
  test.each<[text: string, counts: [number, number][]]>([
    ['', []],
    ['7 ', [[7, 1]]],
    [
      '3 7 3 1200000 ',
      [
        [3, 2],
        [7, 1],
        [1_200_000, 1],
      ],
    ],
    [
      '1023 1024 1025 1024 ',
      [
        [1_023, 1],
        [1_024, 2],
        [1_025, 1],
      ],
    ],
    [
      '9007199254740991 4294967296 9007199254740991 63 64 ',
      [
        [9_007_199_254_740_991, 2],
        [4_294_967_296, 1],
        [63, 1],
        [64, 1],
      ],
    ],
  ])('of %j are counted', (text, counts) => {
    expect(countNumbers(text)).toEqual(counts);
  });
});

describe('facets of sets', () => {
  const asValue = (entry: string): FacetValue => readFacetEntry(entry);
  const [image, photo, water] = [
    facetEntry('resource_type', 'image'),
    facetEntry('resource_type', 'image::image-photo'),
    facetEntry('subject', 'Water'),
  ].map(asValue) as [FacetValue, FacetValue, FacetValue];

  test('are counted over all sets that have the value, inner ones apart', () => {
    const sets = new Map([
      [1, [image, photo]],
      [2, [image]],
      [3, [water]],
    ]);
    const counts = [
      [1, 5],
      [2, 2],
      [3, 4],
    ] as const;
    expect(countFacets(counts, sets, ['resource_type'])).toEqual({
      resource_type: [{ value: 'image', count: 7 }],
      'resource_type::image': [{ value: 'image-photo', count: 5 }],
    });
  });

  test('are sorted by frequency, ten at most, ties by code points', () => {
    const names = ['\u{1f30a}', '\uffed', 'z', 'é', 'b', 'a', 'B', 'A', '9', '1', ' '];
    const sets = new Map(
      [...names, 'rare', 'often'].map((name, id) => [id + 1, [asValue(facetEntry('subject', name))]]),
    );
    const counts = [...sets.keys()].map((id) => [id, id === 12 ? 1 : id === 13 ? 9 : 5] as const);
    expect(countFacets(counts, sets, ['subject'])['subject']).toEqual(
      [
        ['often', 9],
        ...[' ', '1', '9', 'A', 'B', 'a', 'b', 'z', 'é'].map((value): [string, number] => [value, 5]),
      ].map(([value, count]) => ({ value, count })),
    );
  });
});

test('sets share recurring values, and each free value is separate', () => {
  const given = { category: ['open'], resource_type: ['image', 'image::image-photo'] };
  const [shared, ...free] = facetSets({ ...given, subject: ['Water', 'a=b'] });
  expect(shared?.entries).toEqual([
    'category=open',
    'resource_type=image',
    'resource_type::image=image-photo',
  ]);
  expect(free.map(({ entries }) => entries)).toEqual([['subject=Water'], ['subject=a=b']]);
  expect(readFacetEntry('subject=a=b')).toEqual({ name: 'subject', facet: 'subject', value: 'a=b' });
  const [again] = facetSets({ subject: [], resource_type: given.resource_type, category: ['open'] });
  expect(again).toEqual(shared);
});
