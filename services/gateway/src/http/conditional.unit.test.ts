import { describe, expect, test } from '@jest/globals';
import { ServiceError } from '@kr/service-error';
import { demandedRevision, isKnownRevision } from './conditional.ts';

describe('If-Match', () => {
  test.each<[ifMatch: string | undefined, revision: string]>([
    [undefined, '0'],
    ['*', '0'],
    ['4', '4'],
    ['"4"', '4'],
    ['W/"4"', '4'],
    [' 17 ', '17'],
    ['0', '-1'],
    ['999999999999999999', '999999999999999999'],
  ])('%s demands revision %s', (ifMatch, revision) => {
    expect(demandedRevision(ifMatch)).toBe(revision);
  });

  test.each(['abc', '"abc"', '-1', '1.5', '"4', '4, 5', '', '9'.repeat(40)])(
    '%s is no revision',
    (ifMatch) => {
      let thrown: unknown;
      try {
        demandedRevision(ifMatch);
      } catch (caught) {
        thrown = caught;
      }
      expect([ServiceError.from(thrown).kind, ServiceError.from(thrown).issues]).toEqual([
        'invalid',
        [{ field: 'if_match', messages: ['Not a valid integer.'] }],
      ]);
    },
  );
});

describe('If-None-Match', () => {
  test.each<[header: string | undefined, isKnown: boolean]>([
    [undefined, false],
    ['"4"', true],
    ['W/"4"', true],
    ['"3", "4"', true],
    ['*', true],
    ['"3"', false],
    ['4', false],
  ])('%s: revision 4 is known: %s', (header, isKnown) => {
    expect(isKnownRevision(header, '4')).toBe(isKnown);
  });
});
