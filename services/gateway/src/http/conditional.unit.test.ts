import { describe, expect, test } from '@jest/globals';
import { ServiceError } from '@kr/service-error';
import { assertIfMatch, assertIfNoneMatch, isKnownTag, parseIfMatch } from './conditional.ts';

function thrownBy(act: () => unknown): unknown {
  try {
    act();
  } catch (thrown) {
    return thrown;
  }
  return undefined;
}

describe('If-Match', () => {
  test.each<[ifMatch: string | undefined, revisions: string[]]>([
    [undefined, []],
    ['*', []],
    ['4', ['4']],
    ['"4"', ['4']],
    ['W/"4"', ['4']],
    ['"4.n4bQgYhMfWWaL-qg"', ['4']],
    ['W/"4.n4bQgYhMfWWaL-qg.ui"', ['4']],
    [' 17 ', ['17']],
    ['0', ['-1']],
    ['999999999999999999', ['999999999999999999']],
    ['"4", W/"5",6', ['4', '5', '6']],
    // Tags that are not ours match nothing.
    ['"abc"', ['-1']],
    ['".4"', ['-1']],
    ['"4.", "4"', ['-1', '4']],
  ])('%s demands one of %j', (ifMatch, revisions) => {
    expect(parseIfMatch(ifMatch)).toEqual(revisions);
  });

  test.each(['abc', '-1', '1.5', '"4', '"4",', '*, 5', '', '9'.repeat(40)])(
    '%s is no revision',
    (ifMatch) => {
      const thrown = thrownBy(() => parseIfMatch(ifMatch));
      expect([ServiceError.from(thrown).kind, ServiceError.from(thrown).issues]).toEqual([
        'invalid',
        [
          {
            field: 'if_match',
            messages: ['Not a valid integer.', 'Send If-Match with a revision, such as "4", or with *.'],
          },
        ],
      ]);
    },
  );
});

describe('If-Match of a read', () => {
  test.each<[header: string | undefined, outcome: number | undefined]>([
    [undefined, undefined],
    ['*', undefined],
    ['"4"', undefined],
    ['W/"4"', undefined],
    ['4', undefined],
    ['"3", "4"', undefined],
    ['"4.xyz"', undefined],
    ['"3.xyz"', 4],
    ['"3"', 4],
    ['"44"', 4],
    ['"3", "5"', 4],
    ['nonsense', 4],
    ['', 4],
  ])('%s: refused with the revision that it has: %s', (header, outcome) => {
    const thrown = thrownBy(() => assertIfMatch(header, '4'));
    const { kind, currentRevision } = thrown === undefined ? {} : ServiceError.from(thrown);
    expect([kind, currentRevision]).toEqual([outcome && 'precondition_failed', outcome]);
  });
});

describe('If-None-Match', () => {
  test.each<[header: string | undefined, isKnown: boolean]>([
    [undefined, false],
    ['"4"', true],
    ['W/"4"', true],
    ['"3", "4"', true],
    ['*', true],
    ['"3"', false],
    ['"4.xyz"', false],
    ['4', false],
  ])('%s: the tag "4" is known: %s', (header, isKnown) => {
    expect(isKnownTag(header, '"4"')).toBe(isKnown);
  });
});

describe('If-None-Match of a change', () => {
  test.each<[header: string, outcome: number | undefined]>([
    ['*', 4],
    ['"4"', 4],
    ['W/"4.xyz"', 4],
    ['"3", "4"', 4],
    ['"3"', undefined],
    ['"44", "5"', undefined],
    ['nonsense', undefined],
  ])('%s: refused with the revision that there is: %s', (header, outcome) => {
    const thrown = thrownBy(() => assertIfNoneMatch(header, '4'));
    const { kind, currentRevision } = thrown === undefined ? {} : ServiceError.from(thrown);
    expect([kind, currentRevision]).toEqual([outcome && 'precondition_failed', outcome]);
  });
});
