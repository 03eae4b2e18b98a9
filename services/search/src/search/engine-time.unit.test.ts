import { expect, test } from '@jest/globals';
import { engineTime } from './engine-time.ts';
import { searchSlots } from './search-slots.ts';

function aClock() {
  let now = 0;
  return {
    elapsed: () => now,
    pass: (ms: number) => {
      now += ms;
    },
  };
}

test('all engine calls of a request share its time', async () => {
  const { elapsed, pass } = aClock();
  const time = engineTime({ slots: searchSlots(2), limitMs: 1_000, elapsed })('a');
  const limits: number[] = [];
  const call = (ms: number) =>
    time.run(false, async (deadline) => {
      limits.push(deadline.leftMs());
      pass(ms);
    });
  await call(400.4);
  await call(499.6);
  await call(100);
  await expect(call(1)).rejects.toMatchObject({ code: 'search_timeout', usedMs: 1_000 });
  expect([limits, time.engineMs]).toEqual([[1_000, 599, 100], 1_000]);
});

test('waiting for a slot counts for the limit, and is not charged', async () => {
  const { elapsed, pass } = aClock();
  const slots = searchSlots(1);
  const end = await slots.acquire({ caller: 'other', isCostly: true, timeoutMs: 60_000 });
  const time = engineTime({ slots, limitMs: 60_000, elapsed })('a');
  const running = time.run(true, async (deadline) => {
    const leftMs = deadline.leftMs();
    pass(10);
    return leftMs;
  });
  pass(20_000);
  end();
  expect([await running, time.engineMs]).toEqual([40_000, 10]);
});

test('a failed call reports its duration, and releases its slot', async () => {
  const { elapsed, pass } = aClock();
  const slots = searchSlots(1);
  const time = engineTime({ slots, limitMs: 1_000, elapsed })('a');
  const failing = time.run(true, async () => {
    pass(30);
    throw new Error('broken');
  });
  await expect(failing).rejects.toMatchObject({ kind: 'internal', usedMs: 30 });
  expect(await time.run(true, async () => 'done')).toBe('done');
});
