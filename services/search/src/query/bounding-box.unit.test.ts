import { describe, expect, test } from '@jest/globals';
import { parseBoundingBox } from './bounding-box.ts';

describe('parseBoundingBox', () => {
  test.each([
    ['', null],
    ['  ', null],
    ['10,50,20,40', [{ west: 10, south: 40, east: 20, north: 50 }]],
    ['10, 40 ,20,50', [{ west: 10, south: 40, east: 20, north: 50 }]],
    ['-1e1,+5.5,.5,-0.25', [{ west: -10, south: -0.25, east: 0.5, north: 5.5 }]],
    ['-180,-90,180,90', [{ west: -180, south: -90, east: 180, north: 90 }]],
    [
      '170,10,-170,-10',
      [
        { west: 170, south: -10, east: 180, north: 10 },
        { west: -180, south: -10, east: -170, north: 10 },
      ],
    ],
  ])('reads %j', (text, boxes) => {
    expect(parseBoundingBox(text)).toEqual(boxes);
  });

  test.each([
    '9,51,13',
    '9,51,13,40,1',
    'a,b,c,d',
    ',,,',
    '1,2,3,',
    'nan,1,2,3',
    'NaN,1,2,3',
    'Infinity,1,2,3',
    '1,91,2,3',
    '1,-91,2,3',
    '181,1,2,3',
    '1,2,-181,3',
    '0x10,1,2,3',
    '1;2;3;4',
  ])('refuses %j', (text) => {
    expect(() => parseBoundingBox(text)).toThrow(
      expect.objectContaining({ kind: 'invalid', message: 'Invalid querystring parameters.', issues: [] }),
    );
  });
});
