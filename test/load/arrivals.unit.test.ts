import { expect, test } from '@jest/globals';
import { seededRandom } from '@kr/testbed';
import { arrive } from './arrivals.ts';

test('those who come do not wait for those who came before, and are as many as told', async () => {
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
      // Nobody is done before a hundred are there.
      if (begun === 100) open();
      return enough;
    },
  });
  expect(begun).toBeGreaterThan(150);
  expect(begun).toBeLessThan(250);
});
