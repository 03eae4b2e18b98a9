import { describe, expect, test } from '@jest/globals';
import { isRangeValid, precondition } from './conditions.ts';

const now = { etag: '"md5:aa"', lastModified: new Date('2026-11-21T06:54:45.500Z') };
const same = 'Sat, 21 Nov 2026 06:54:45 GMT';
const earlier = 'Sat, 21 Nov 2026 06:54:44 GMT';
const later = 'Sat, 21 Nov 2026 06:54:46 GMT';

describe('a conditional read', () => {
  test.each([
    [{}, 'passed'],
    [{ 'if-none-match': '"md5:aa"' }, 'unchanged'],
    [{ 'if-none-match': 'W/"md5:aa"' }, 'unchanged'],
    [{ 'if-none-match': '"md5:bb", "md5:aa"' }, 'unchanged'],
    [{ 'if-none-match': '*' }, 'unchanged'],
    [{ 'if-none-match': '"md5:bb"' }, 'passed'],
    [{ 'if-modified-since': same }, 'unchanged'],
    [{ 'if-modified-since': later }, 'unchanged'],
    [{ 'if-modified-since': earlier }, 'passed'],
    [{ 'if-modified-since': 'yesterday' }, 'passed'],
    [{ 'if-modified-since': '2030-01-01' }, 'passed'],
    [{ 'if-modified-since': 'Saturday, 21-Nov-26 06:54:45 GMT' }, 'unchanged'],
    [{ 'if-none-match': 'md5:aa' }, 'unchanged'],
    [{ 'if-none-match': '' }, 'passed'],
    [{ 'if-none-match': '"md5:aa"', 'cache-control': 'no-cache' }, 'unchanged'],
    [{ 'if-none-match': '"md5:bb"', 'if-modified-since': later }, 'passed'],
    [{ 'if-match': '"md5:aa"' }, 'passed'],
    [{ 'if-match': 'md5:aa' }, 'passed'],
    [{ 'if-match': '*' }, 'passed'],
    [{ 'if-match': '"md5:bb"' }, 'failed'],
    [{ 'if-match': 'W/"md5:aa"' }, 'failed'],
    [{ 'if-match': '"md5:bb"', 'if-none-match': '"md5:aa"' }, 'failed'],
    [{ 'if-unmodified-since': same }, 'passed'],
    [{ 'if-unmodified-since': earlier }, 'failed'],
    [{ 'if-unmodified-since': 'yesterday' }, 'passed'],
    [{ 'if-unmodified-since': '2000-01-01' }, 'passed'],
    [{ 'if-unmodified-since': same, 'if-none-match': '"md5:aa"' }, 'unchanged'],
    [{ 'if-unmodified-since': earlier, 'if-none-match': '"md5:aa"' }, 'failed'],
    [{ 'if-match': '"md5:aa"', 'if-unmodified-since': earlier }, 'passed'],
  ])('with %j is %s', (headers, expected) => {
    expect(precondition(headers, now)).toBe(expected);
  });

  test.each([
    [{ 'if-modified-since': later }, 'passed'],
    [{ 'if-unmodified-since': earlier }, 'passed'],
    [{ 'if-none-match': '"md5:aa"' }, 'unchanged'],
  ])('of a representation without date, with %j, is %s', (headers, expected) => {
    expect(precondition(headers, { ...now, lastModified: undefined })).toBe(expected);
  });

  test.each([
    [undefined, true],
    ['"md5:aa"', true],
    ['md5:aa', false],
    ['*', false],
    ['"md5:bb", "md5:aa"', false],
    ['Saturday, 21-Nov-26 06:54:45 GMT', false],
    ['W/"md5:aa"', false],
    ['"md5:bb"', false],
    [same, true],
    [earlier, false],
    [later, false],
  ])('with If-Range %j serves a part: %s', (ifRange, expected) => {
    expect(isRangeValid(ifRange, now)).toBe(expected);
  });
});
