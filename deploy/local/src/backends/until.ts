import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Polls until the result is truthy, and resolves with it.
 * An error counts as "not yet"; the last one is the cause of the timeout error.
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
  throw new Error(`Timed out after ${timeoutMs} ms waiting for ${what}.`, { cause });
}
