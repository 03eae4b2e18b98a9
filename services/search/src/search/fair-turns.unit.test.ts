import { expect, test } from '@jest/globals';
import { fairTurns } from './engine-time.ts';

/** Takes turns by caller and remembers which have begun. */
function turnsOf(connections: number) {
  const turns = fairTurns(connections);
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const take = (caller: string, isCostly = true) =>
    turns.acquire({ caller, isCostly, timeoutMs: 60_000 }).then((end) => {
      begun.push(caller);
      ends.push(end);
    });
  const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
  const end = async () => {
    ends.shift()?.();
    await settled();
  };
  return { begun, take, settled, end };
}

test('one caller runs one costly search, or two quick ones, however many connections are free', async () => {
  const { begun, take, settled } = turnsOf(8);
  for (let n = 0; n < 4; n += 1) void take('costly');
  for (let n = 0; n < 4; n += 1) void take('quick', false);
  await settled();
  expect(begun).toEqual(['costly', 'quick', 'quick']);
});

test('costly searches use a quarter of the connections, quick ones all', async () => {
  const { begun, take, settled } = turnsOf(8);
  for (const caller of ['a', 'b', 'c', 'd', 'e']) void take(caller);
  await settled();
  expect(begun).toEqual(['a', 'b']);
  for (const caller of ['f', 'g', 'h', 'i', 'j', 'k', 'l']) void take(caller, false);
  await settled();
  expect(begun).toEqual(['a', 'b', 'f', 'g', 'h', 'i', 'j', 'k']);
});

test('a single connection serves both', async () => {
  const { begun, take, settled } = turnsOf(1);
  void take('a');
  void take('b', false);
  await settled();
  expect(begun).toEqual(['a']);
});

test('free connections go to waiting callers in turn', async () => {
  const { begun, take, settled, end } = turnsOf(2);
  for (let n = 0; n < 5; n += 1) void take('greedy');
  void take('b');
  void take('c');
  await settled();
  for (let n = 0; n < 6; n += 1) await end();
  expect(begun).toEqual(['greedy', 'greedy', 'b', 'c', 'greedy', 'greedy', 'greedy']);
});

test('callers may have few searches waiting, and a turn that is not free in time is cancelled', async () => {
  const turns = fairTurns(1);
  const end = await turns.acquire({ caller: 'a', isCostly: true, timeoutMs: 1 });
  const late = Array.from({ length: 16 }, () => turns.acquire({ caller: 'a', isCostly: true, timeoutMs: 1 }));
  const tooMany = turns.acquire({ caller: 'a', isCostly: true, timeoutMs: 1 });
  await expect(tooMany).rejects.toMatchObject({ kind: 'rate_limited', code: 'too_many_searches' });
  for (const { status, ...rest } of await Promise.allSettled(late))
    expect([status, rest]).toMatchObject(['rejected', { reason: { code: 'search_timeout' } }]);
  end();
  // No cancelled call holds the connection.
  (await turns.acquire({ caller: 'b', isCostly: true, timeoutMs: 1 }))();
});
