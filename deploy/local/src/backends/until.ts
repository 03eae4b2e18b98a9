import { setTimeout as sleep } from 'node:timers/promises';

interface UntilOptions {
  timeoutMs?: number;
  everyMs?: number;
  /** For the error message. */
  what?: string;
}

const FIRST_PAUSE_MS = 10;
const MAX_PAUSE_MS = 100;

/**
 * Polls until the result is truthy, and resolves with it: every `everyMs` milliseconds, by default less often the longer it
 * takes. An error counts as "not yet"; the last one is the cause of the timeout error.
 * @throws Error after `timeoutMs` (milliseconds; a minute by default).
 */
export async function until<T>(
  question: () => T | Promise<T>,
  { timeoutMs = 60_000, everyMs, what = 'the condition' }: UntilOptions = {},
): Promise<NonNullable<T>> {
  const deadline = Date.now() + timeoutMs;
  let pauseMs = everyMs ?? FIRST_PAUSE_MS;
  let cause: unknown;
  do {
    try {
      const answer = await question();
      if (answer) return answer;
      cause = undefined;
    } catch (thrown) {
      cause = thrown;
    }
    await sleep(pauseMs);
    if (everyMs === undefined) pauseMs = Math.min(1.5 * pauseMs, MAX_PAUSE_MS);
  } while (Date.now() < deadline);
  throw new Error(`Timed out after ${timeoutMs} ms waiting for ${what}.`, { cause });
}
