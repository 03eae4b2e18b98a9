import { expect, test } from '@jest/globals';
import { concurrencyLimit, type LimitKey } from './concurrency-limit.ts';

const config = { maxRequestsInFlight: 256, maxTransfersInFlight: 1_000 };
const visitor = (address: number): LimitKey => ({ key: `address ${address}`, isAnonymous: true });
const user = (id: number): LimitKey => ({ key: `user ${id}`, isAnonymous: false });

/** Begins transfers until one is refused, or all have permits. */
function transfers(count: number, callerOf: (n: number) => LimitKey, isDownload = true) {
  const refusals: unknown[] = [];
  const gate = concurrencyLimit({ config, bodyMaxBytes: 100, refused: () => undefined });
  const begin = (caller: LimitKey, isDownload: boolean) => {
    const permit = gate.acquire('transfer', { isDownload });
    try {
      permit.assign(caller);
      return permit;
    } catch (refusal) {
      permit.release();
      refusals.push((refusal as { code: string }).code);
      return undefined;
    }
  };
  const permits = Array.from({ length: count }, (_, n) => begin(callerOf(n), isDownload)).filter(Boolean);
  return { permits, refusals, begin };
}

test('one address has a share of the transfers, and does not take the share of others', () => {
  const { permits, refusals, begin } = transfers(1_000, () => visitor(1));
  expect([permits.length, new Set(refusals)]).toEqual([50, new Set(['too_many_transfers'])]);
  expect(begin(visitor(2), true)).toBeDefined();
  expect(begin(user(1), false)).toBeDefined();
});

test('a transfer that has ended makes room for another one of its caller', () => {
  const { permits, begin } = transfers(50, () => visitor(1));
  expect(begin(visitor(1), true)).toBeUndefined();
  permits[0]?.release();
  permits[0]?.release();
  expect(begin(visitor(1), true)).toBeDefined();
  expect(begin(visitor(1), true)).toBeUndefined();
});

test('many addresses leave room for users', () => {
  const { permits, begin } = transfers(1_000, (n) => visitor(n));
  expect(permits).toHaveLength(600);
  expect(begin(user(1), true)).toBeDefined();
});

test('downloads leave room for uploads', () => {
  const gate = concurrencyLimit({ config, bodyMaxBytes: 100, refused: () => undefined });
  const permits = Array.from({ length: 800 }, () => gate.acquire('transfer', { isDownload: true }));
  expect(permits).toHaveLength(800);
  expect(() => gate.acquire('transfer', { isDownload: true })).toThrow(
    'Too many file transfers are running.',
  );
  expect(() => gate.acquire('transfer', { isDownload: false })).not.toThrow();
});

/** Begins bodies of 100 bytes until one is refused. */
function bodies(callerOf: (n: number) => LimitKey) {
  const gate = concurrencyLimit({
    config: { ...config, maxRequestsInFlight: 1 },
    bodyMaxBytes: 100,
    refused: () => undefined,
  });
  const begin = (caller: LimitKey) => {
    const permit = gate.acquire('read');
    permit.assign(caller);
    permit.release();
    try {
      permit.addBodyBytes(100);
      return permit;
    } catch (refusal) {
      permit.release();
      return (refusal as { code: string }).code;
    }
  };
  const permits = Array.from({ length: 400 }, (_, n) => begin(callerOf(n))).filter(
    (permit) => typeof permit !== 'string',
  );
  return { permits, begin };
}

test('bodies that arrive are bounded for one user, for all anonymous callers, and for all', () => {
  const one = bodies(() => user(1));
  expect([one.permits.length, one.begin(user(1))]).toEqual([8, 'too_many_bodies']);
  expect(typeof one.begin(user(2))).toBe('object');

  const anonymous = bodies((n) => visitor(n));
  expect([anonymous.permits.length, anonymous.begin(visitor(999))]).toEqual([76, 'too_many_bodies']);
  expect(typeof anonymous.begin(user(1))).toBe('object');

  const all = bodies((n) => user(n));
  expect([all.permits.length, all.begin(user(999))]).toEqual([128, 'overloaded']);
});

test('a body that has arrived, or was aborted, releases its slot', () => {
  const { permits, begin } = bodies(() => user(1));
  permits[0]?.reacquire();
  permits[0]?.release();
  permits[1]?.release();
  const [first, second, third] = [begin(user(1)), begin(user(1)), begin(user(1))];
  expect([typeof first, typeof second, third]).toEqual(['object', 'object', 'too_many_bodies']);
});
