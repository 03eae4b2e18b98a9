import { expect, test } from '@jest/globals';
import { partSize } from './s3-objects.ts';

const MIB = 1_048_576;

test.each([
  [0, 8 * MIB],
  [72_000 * MIB, 8 * MIB],
  [72_000 * MIB + 1, 8 * MIB + 1],
  [5_000_000_000_000, 555_555_556],
])('an object of %d bytes has parts of %d', (objectBytes, expected) => {
  expect(partSize(objectBytes)).toBe(expected);
  expect(Math.ceil(objectBytes / expected)).toBeLessThanOrEqual(9_000);
});
