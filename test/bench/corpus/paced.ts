import { setTimeout as sleep } from 'node:timers/promises';
import { quantile } from '../load.ts';
import type { CorpusRound } from './corpus-round.ts';

/** Requests of one kind, started at a fixed interval in milliseconds, regardless of running ones. */
interface Pace {
  request: () => Promise<void>;
  everyMs: number;
}

/** Sends requests at a pace until the work is done. */
export async function beside<Result>(
  name: string,
  { request, everyMs }: Pace,
  work: () => Promise<Result>,
): Promise<{ result: Result; round: CorpusRound }> {
  const latencies: number[] = [];
  let failed = 0;
  let isOver = false;
  const underWay = new Set<Promise<void>>();
  const sending = (async () => {
    while (!isOver) {
      const begun = performance.now();
      const sent = request()
        .then(
          () => void latencies.push(performance.now() - begun),
          () => {
            failed += 1;
          },
        )
        .finally(() => underWay.delete(sent));
      underWay.add(sent);
      await sleep(everyMs);
    }
  })();
  const result = await work().finally(() => {
    isOver = true;
  });
  await sending;
  await Promise.all(underWay);
  latencies.sort((a, b) => a - b);
  const [p50, p99] = [quantile(latencies, 0.5), quantile(latencies, 0.99)];
  return { result, round: { name, requests: latencies.length, failed, p50, p99 } };
}
