import { expect, test } from '@jest/globals';
import { admission, type Caller } from './admission.ts';

const config = { maxRequestsInFlight: 256, maxTransfersInFlight: 1_000 };
const visitor = (address: number): Caller => ({ key: `address ${address}`, isAnonymous: true });
const user = (id: number): Caller => ({ key: `user ${id}`, isAnonymous: false });

/** Begins transfers until one is refused, or all have begun. */
function transfers(count: number, callerOf: (n: number) => Caller, isDownload = true) {
  const refusals: unknown[] = [];
  const gate = admission({ config, refused: () => undefined });
  const begin = (caller: Caller, isDownload: boolean) => {
    const place = gate.enter('transfer', { isDownload });
    try {
      place.assign(caller);
      return place;
    } catch (refusal) {
      place.leave();
      refusals.push((refusal as { code: string }).code);
      return undefined;
    }
  };
  const begun = Array.from({ length: count }, (_, n) => begin(callerOf(n), isDownload)).filter(Boolean);
  return { begun, refusals, begin };
}

test('one address has a share of the transfers, and keeps nobody else from theirs', () => {
  const { begun, refusals, begin } = transfers(1_000, () => visitor(1));
  expect([begun.length, new Set(refusals)]).toEqual([50, new Set(['too_many_transfers'])]);
  expect(begin(visitor(2), true)).toBeDefined();
  expect(begin(user(1), false)).toBeDefined();
});

test('a transfer that has ended makes room for another one of its caller', () => {
  const { begun, begin } = transfers(50, () => visitor(1));
  expect(begin(visitor(1), true)).toBeUndefined();
  begun[0]?.leave();
  begun[0]?.leave();
  expect(begin(visitor(1), true)).toBeDefined();
  expect(begin(visitor(1), true)).toBeUndefined();
});

test('many addresses leave room for users', () => {
  const { begun, begin } = transfers(1_000, (n) => visitor(n));
  expect(begun).toHaveLength(600);
  expect(begin(user(1), true)).toBeDefined();
});

test('downloads leave room for uploads', () => {
  const gate = admission({ config, refused: () => undefined });
  const begun = Array.from({ length: 800 }, () => gate.enter('transfer', { isDownload: true }));
  expect(begun).toHaveLength(800);
  expect(() => gate.enter('transfer', { isDownload: true })).toThrow('Too many file transfers are running.');
  expect(() => gate.enter('transfer', { isDownload: false })).not.toThrow();
});
