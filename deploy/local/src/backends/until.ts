import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Asks again and again until the answer is truthy, and resolves with it.
 * A question that throws counts as "not yet"; its last error is the cause of the time-out.
 * @throws Error after `timeoutMs` (milliseconds; a minute by default).
 */
export async function until<T>(
  question: () => T | Promise<T>,
  { timeoutMs = 60_000, everyMs = 25, what = 'the condition' } = {},
): Promise<NonNullable<T>> {
  const deadline = Date.now() + timeoutMs;
  let cause: unknown;
  do {
    try {
      const answer = await question();
      if (answer) return answer;
      cause = undefined;
    } catch (thrown) {
      cause = thrown;
    }
    await sleep(everyMs);
  } while (Date.now() < deadline);
  throw new Error(`Waited ${timeoutMs} ms in vain for ${what}.`, { cause });
}
