import { expect, test } from '@jest/globals';
import { searchSlots } from './search-slots.ts';

/** Acquires slots by caller and remembers which searches have begun. */
function slotsOf(connections: number) {
  const slots = searchSlots(connections);
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const acquire = (caller: string, isCostly = true) =>
    slots.acquire({ caller, isCostly, timeoutMs: 60_000 }).then((end) => {
      begun.push(caller);
      ends.push(end);
    });
  const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
  const end = async () => {
    ends.shift()?.();
    await settled();
  };
  return { begun, acquire, settled, end };
}

test('one caller runs one costly search, or two quick ones, however many connections are free', async () => {
  const { begun, acquire, settled } = slotsOf(8);
  for (let n = 0; n < 4; n += 1) void acquire('costly');
  for (let n = 0; n < 4; n += 1) void acquire('quick', false);
  await settled();
  expect(begun).toEqual(['costly', 'quick', 'quick']);
});

test('costly searches use a quarter of the connections, quick ones all', async () => {
  const { begun, acquire, settled } = slotsOf(8);
  for (const caller of ['a', 'b', 'c', 'd', 'e']) void acquire(caller);
  await settled();
  expect(begun).toEqual(['a', 'b']);
  for (const caller of ['f', 'g', 'h', 'i', 'j', 'k', 'l']) void acquire(caller, false);
  await settled();
  expect(begun).toEqual(['a', 'b', 'f', 'g', 'h', 'i', 'j', 'k']);
});

test('a single connection serves both', async () => {
  const { begun, acquire, settled } = slotsOf(1);
  void acquire('a');
  void acquire('b', false);
  await settled();
  expect(begun).toEqual(['a']);
});

test('free connections go to waiting callers in turn', async () => {
  const { begun, acquire, settled, end } = slotsOf(2);
  for (let n = 0; n < 5; n += 1) void acquire('greedy');
  void acquire('b');
  void acquire('c');
  await settled();
  for (let n = 0; n < 6; n += 1) await end();
  expect(begun).toEqual(['greedy', 'greedy', 'b', 'c', 'greedy', 'greedy', 'greedy']);
});

test('callers may have few searches waiting, and a wait for a slot ends in time', async () => {
  const slots = searchSlots(1);
  const end = await slots.acquire({ caller: 'a', isCostly: true, timeoutMs: 1 });
  const late = Array.from({ length: 16 }, () => slots.acquire({ caller: 'a', isCostly: true, timeoutMs: 1 }));
  const tooMany = slots.acquire({ caller: 'a', isCostly: true, timeoutMs: 1 });
  await expect(tooMany).rejects.toMatchObject({ kind: 'rate_limited', code: 'too_many_searches' });
  for (const { status, ...rest } of await Promise.allSettled(late))
    expect([status, rest]).toMatchObject(['rejected', { reason: { code: 'search_timeout' } }]);
  end();
  // No cancelled call holds the connection.
  (await slots.acquire({ caller: 'b', isCostly: true, timeoutMs: 1 }))();
});
