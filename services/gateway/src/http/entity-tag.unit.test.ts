import { expect, test } from '@jest/globals';
import { VENDOR_TYPE } from './accept.ts';
import { entityTag } from './conditional.ts';

const tags = (variant: string) =>
  ['application/json', VENDOR_TYPE].map((mediaType) => entityTag({ revision: '7', variant }, mediaType));

test('the tag is the revision, with a suffix that distinguishes representations', () => {
  expect([tags(''), tags('n4bQgYhMfWWaL-qg')]).toEqual([
    ['"7"', '"7.ui"'],
    ['"7.n4bQgYhMfWWaL-qg"', '"7.n4bQgYhMfWWaL-qg.ui"'],
  ]);
});
