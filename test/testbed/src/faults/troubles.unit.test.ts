import { describe, expect, test } from '@jest/globals';
import { until } from '../until.ts';
import { openFaultLog } from './fault-log.ts';
import { makeTrouble, schedule, type Trouble } from './troubles.ts';

const nothing: Trouble = () => () => undefined;
const anything: Trouble = () => () => undefined;

const firstOf = (seed: number) => {
  const planned = schedule(seed, { troubles: [nothing, anything], everyMs: 1_000 });
  return Array.from({ length: 200 }, () => planned.next().value);
};

describe('a schedule', () => {
  test('is the same for the same seed, and another for another', () => {
    expect(firstOf(7)).toEqual(firstOf(7));
    expect(firstOf(7)).not.toEqual(firstOf(8));
  });

  test('has one trouble in each period, over before the next period begins', () => {
    const planned = firstOf(7);
    const misplaced = planned.filter(
      ({ atMs, lastsMs }, period) => atMs < period * 1_000 || atMs + lastsMs > (period + 1) * 1_000,
    );
    expect({ misplaced, drawn: new Set(planned.map(({ trouble }) => trouble)).size }).toEqual({
      misplaced: [],
      drawn: 2,
    });
  });

  test('is followed until it is stopped, and then nothing is left inflicted', async () => {
    let [begun, lasting] = [0, 0];
    const counted: Trouble = () => {
      begun += 1;
      lasting += 1;
      return () => {
        lasting -= 1;
      };
    };
    const log = openFaultLog();
    const trouble = makeTrouble(7, { troubles: [counted], everyMs: 10, log });
    await until(() => begun > 5);
    await until(() => lasting === 1, { everyMs: 0 });
    await trouble.stop();
    expect({ lasting, log: log.lines() }).toEqual({
      lasting: 0,
      log: [expect.stringMatching(/^\+\d+ ms schedule of seed 7$/)],
    });
  });
});
