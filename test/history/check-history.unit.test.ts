import { describe, expect, test } from '@jest/globals';
import { oneOf, seededRandom } from '@kr/testbed';
import { checkHistory } from './check-history.ts';
import type { Call, History, Outcome, Recorded } from './history.ts';
import { validHistory } from './valid-history.ts';

type ChangeLog = [from: number, to: number, call: Call, outcome: Outcome];

/** A separate client for each line. */
function history(...lines: ChangeLog[]): History {
  return lines
    .flatMap(([from, to, call, outcome], client): Recorded[] => [
      { type: 'invoke', client, at: from, call },
      { client, at: to, ...outcome },
    ])
    .sort((one, other) => one.at - other.at);
}

const OK: Outcome = { type: 'ok' };
const FAIL: Outcome = { type: 'fail' };
const INFO: Outcome = { type: 'info' };
const append = (value: number, entity = 'a'): Call => ({ do: 'append', entity, value });
const publish = (publication: number): Call => ({ do: 'publish', publication, entities: ['p', 'a'] });
const read = (entity: string): Call => ({ do: 'read', entity, form: 'published' });
const readDraft: Call = { do: 'read', entity: 'a', form: 'draft' };
const seen = (publication: number, ...values: number[]): Outcome => ({
  type: 'ok',
  seen: { publication, values },
});
const ABSENT: Outcome = { type: 'ok', seen: 'absent' };

describe('nothing is found', () => {
  test.each<[name: string, lines: ChangeLog[]]>([
    ['in nothing', []],
    [
      'when reads during a publication differ',
      [
        [0, 10, publish(1), OK],
        [1, 9, read('p'), seen(1)],
        [2, 8, read('a'), ABSENT],
      ],
    ],
    [
      'when a publication without an answer has happened, or has not, or happens later',
      [
        [0, 1, publish(1), INFO],
        [2, 3, read('p'), ABSENT],
        [4, 5, read('a'), seen(1)],
        [6, 7, read('p'), seen(1)],
        [8, 9, publish(2), INFO],
        [10, 11, read('p'), seen(1)],
      ],
    ],
    [
      'when a refused attempt is repeated with success',
      [
        [0, 1, publish(1), FAIL],
        [2, 3, publish(1), OK],
        [4, 5, read('p'), seen(1)],
      ],
    ],
    [
      'when a read is not answered',
      [
        [0, 1, publish(1), OK],
        [2, 3, read('p'), INFO],
        [4, 5, read('a'), FAIL],
      ],
    ],
    [
      'when concurrent edits are applied in any order, and unanswered ones appear late or never',
      [
        [0, 5, append(1), OK],
        [1, 4, append(2), OK],
        [1, 2, append(3), INFO],
        [1, 2, append(4), INFO],
        [6, 7, readDraft, seen(0, 2, 1)],
        [8, 9, readDraft, seen(0, 2, 1, 3)],
      ],
    ],
    [
      'when an edit arrives while its draft is published, and stays in the next draft',
      [
        [0, 1, append(1), OK],
        [2, 8, publish(1), OK],
        [3, 9, append(2), OK],
        [10, 11, read('a'), seen(1, 1)],
        [12, 13, readDraft, seen(0, 1, 2)],
      ],
    ],
  ])('%s', (_, lines) => {
    expect(checkHistory(history(...lines))).toEqual([]);
  });
});

describe('what is broken is found', () => {
  test.each<[kind: string, how: string, lines: ChangeLog[]]>([
    [
      'fractured read',
      'the package is seen, then a resource is not',
      [
        [0, 9, publish(1), OK],
        [1, 2, read('p'), seen(1)],
        [3, 4, read('a'), ABSENT],
      ],
    ],
    [
      'fractured read',
      'a resource is seen as published with the package, then the package is at its former version',
      [
        [0, 1, publish(1), OK],
        [2, 9, publish(2), OK],
        [3, 4, read('a'), seen(2)],
        [5, 6, read('p'), seen(1)],
      ],
    ],
    [
      'non-monotonic read',
      'what was seen is gone',
      [
        [0, 9, publish(1), INFO],
        [1, 2, read('p'), seen(1)],
        [3, 4, read('p'), ABSENT],
      ],
    ],
    [
      'publication reverted',
      'what was accepted is not there',
      [
        [0, 1, publish(1), OK],
        [2, 3, read('a'), ABSENT],
      ],
    ],
    [
      'refused publication seen',
      'what was refused is there',
      [
        [0, 1, publish(1), FAIL],
        [2, 3, read('a'), seen(1)],
      ],
    ],
    [
      'refused publication seen',
      'what was there is refused',
      [
        [0, 9, publish(1), FAIL],
        [2, 3, read('a'), seen(1)],
      ],
    ],
    ['refused publication seen', 'an unknown publication is visible', [[2, 3, read('a'), seen(1)]]],
    [
      'lost edit',
      'an accepted edit is not in the draft',
      [
        [0, 1, append(1), OK],
        [2, 3, readDraft, seen(0)],
      ],
    ],
    [
      'lost edit',
      'an edit accepted before the publication is missing in it',
      [
        [0, 1, append(1), OK],
        [2, 3, append(2), OK],
        [4, 5, publish(1), OK],
        [6, 7, read('a'), seen(1, 1)],
      ],
    ],
    [
      'lost edit',
      'an edit accepted during the publication is neither published nor in a draft',
      [
        [0, 9, publish(1), OK],
        [1, 2, append(1), OK],
        [10, 11, readDraft, ABSENT],
        [12, 13, read('a'), seen(1)],
      ],
    ],
    [
      'lost edit',
      'an edit has gone from between others',
      [
        [0, 1, append(1), INFO],
        [0, 1, append(2), INFO],
        [2, 5, readDraft, seen(0, 1, 2)],
        [3, 4, readDraft, seen(0, 2)],
      ],
    ],
    [
      'duplicated edit',
      'an edit is there twice',
      [
        [0, 1, append(1), OK],
        [2, 3, readDraft, seen(0, 1, 1)],
      ],
    ],
    [
      'reordered edits',
      'two readers see two orders',
      [
        [0, 1, append(1), OK],
        [0, 1, append(2), OK],
        [2, 3, readDraft, seen(0, 1, 2)],
        [2, 3, readDraft, seen(0, 2, 1)],
      ],
    ],
    [
      'reordered edits',
      'a later edit is before an earlier one',
      [
        [0, 1, append(1), OK],
        [2, 3, append(2), OK],
        [4, 5, readDraft, seen(0, 2, 1)],
      ],
    ],
    ['unknown edit', 'no client made it', [[2, 3, readDraft, seen(0, 7)]]],
    [
      'unknown edit',
      'it was refused',
      [
        [0, 1, append(7), FAIL],
        [2, 3, readDraft, seen(0, 7)],
      ],
    ],
    [
      'unknown edit',
      'it was made to something else',
      [
        [0, 1, append(7, 'b'), OK],
        [2, 3, readDraft, seen(0, 7)],
      ],
    ],
    [
      'unknown edit',
      'it is made later',
      [
        [0, 1, readDraft, seen(0, 7)],
        [2, 3, append(7), OK],
      ],
    ],
    [
      'non-monotonic read',
      'an edit that was seen is not seen later',
      [
        [0, 1, append(1), INFO],
        [2, 3, readDraft, seen(0, 1)],
        [4, 5, readDraft, seen(0)],
      ],
    ],
    [
      'non-monotonic read',
      'an edit that is published is not in the next draft',
      [
        [0, 1, append(1), INFO],
        [2, 3, publish(1), OK],
        [4, 5, read('a'), seen(1, 1)],
        [6, 7, readDraft, seen(0)],
      ],
    ],
  ])('%s: %s', (kind, _, lines) => {
    expect(checkHistory(history(...lines)).map((violation) => violation.kind)).toEqual([kind]);
  });
});

/** Ways to spoil a history at a place that chance chooses; undefined where it would change nothing that can be seen. */
const CORRUPTIONS: Record<string, (history: Recorded[], random: () => number) => Recorded[] | undefined> = {
  'an edit in the middle is left out': (whole, random) =>
    changeList(whole, random, (values) => (values.length < 2 ? undefined : values.slice(1))),
  'an edit is repeated': (whole, random) =>
    changeList(whole, random, (values) =>
      values.length < 1 ? undefined : [...values, ...values.slice(0, 1)],
    ),
  'two edits change places': (whole, random) =>
    changeList(whole, random, ([first, second, ...others]) =>
      first === undefined || second === undefined ? undefined : [second, first, ...others],
    ),
  'an edit is made up': (whole, random) => changeList(whole, random, (values) => [...values, -1]),
  'the newest publication is not seen': (whole, random) => {
    const reads = whole.filter((event) => {
      return event.type === 'ok' && typeof event.seen === 'object' && event.seen.publication > 0;
    });
    if (reads.length === 0) return undefined;
    const one = oneOf(random, reads);
    const calls = callsOf(whole);
    const call = calls.get(one);
    const before = whole.find((event) => {
      const other = calls.get(event);
      return (
        call?.call.do === 'read' &&
        event.type === 'ok' &&
        event.at < call.at &&
        other?.call.do === 'publish' &&
        other.call.entities.includes(call.call.entity)
      );
    });
    return before === undefined ? undefined : replaced(whole, one, { ...one, type: 'ok', seen: 'absent' });
  },
};

function changeList(
  whole: Recorded[],
  random: () => number,
  change: (values: readonly number[]) => readonly number[] | undefined,
): Recorded[] | undefined {
  // Several readers have seen each list as it was, so that a change to one of them contradicts the others.
  const calls = callsOf(whole);
  const reads = whole.filter((event) => event.type === 'ok' && typeof event.seen === 'object');
  const lists = Map.groupBy(reads, (event) => JSON.stringify([calls.get(event)?.call, listOf(event)]));
  const repeated = [...lists.values()].filter((same) => same.length > 2).flat();
  if (repeated.length === 0) return undefined;
  const one = oneOf(random, repeated);
  const values = change(listOf(one));
  if (values === undefined || one.type !== 'ok' || typeof one.seen !== 'object') return undefined;
  return replaced(whole, one, { ...one, seen: { ...one.seen, values } });
}

function listOf(event: Recorded): readonly number[] {
  return event.type === 'ok' && typeof event.seen === 'object' ? event.seen.values : [];
}

function replaced(whole: readonly Recorded[], one: Recorded, by: Recorded): Recorded[] {
  return whole.map((event) => (event === one ? by : event));
}

/** The call that an event ends. */
function callsOf(whole: readonly Recorded[]): Map<Recorded, { call: Call; at: number }> {
  const running = new Map<number, { call: Call; at: number }>();
  const calls = new Map<Recorded, { call: Call; at: number }>();
  for (const event of whole) {
    const begun = running.get(event.client);
    if (event.type === 'invoke') running.set(event.client, event);
    else if (begun !== undefined) calls.set(event, begun);
  }
  return calls;
}

describe('histories of a correct system', () => {
  const seeds = Array.from({ length: 100 }, (_, at) => at + 1);

  test('show nothing', () => {
    expect(seeds.flatMap((seed) => checkHistory(validHistory(seed, 300)))).toEqual([]);
  });

  test.each(Object.entries(CORRUPTIONS))('show it when %s', (_, corrupt) => {
    const spoilt = seeds.map((seed) => ({ seed, by: corrupt(validHistory(seed, 300), seededRandom(seed)) }));
    const blind = spoilt.filter(({ by }) => by !== undefined && checkHistory(by).length === 0);
    expect({ spoilt: spoilt.some(({ by }) => by !== undefined), blind }).toEqual({ spoilt: true, blind: [] });
  });

  test('are checked in one go however long they are', () => {
    const long = validHistory(1, 100_000, 2_000);
    expect([long.length, checkHistory(long)]).toEqual([200_000, []]);
  });
});
