import { expect, test } from '@jest/globals';
import { seededRandom } from '@kr/testbed';
import { arrive } from './arrivals.ts';

test('new arrivals do not wait for earlier ones, and have the requested rate', async () => {
  let begun = 0;
  let open: () => void = () => undefined;
  const enough = new Promise<void>((resolve) => {
    open = resolve;
  });
  await arrive({
    perSecond: 2_000,
    seconds: 0.1,
    random: seededRandom(1),
    begin: () => {
      begun += 1;
      // No work finishes before a hundred have started.
      if (begun === 100) open();
      return enough;
    },
  });
  expect(begun).toBeGreaterThan(150);
  expect(begun).toBeLessThan(250);
});
