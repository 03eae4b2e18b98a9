import { setTimeout as sleep } from 'node:timers/promises';

/** The maximum number of retries. */
const COMEBACKS = 20;

/** Retries on request, as clients should: a loaded machine may not finish in time. */
export async function comingBack<ChangeLog extends { status: number }>(
  ask: () => Promise<ChangeLog>,
  retryAfterOf: (told: ChangeLog) => string | null | undefined,
): Promise<ChangeLog> {
  let told = await ask();
  for (let again = 0; again < COMEBACKS && told.status === 503; again += 1) {
    const seconds = Number(retryAfterOf(told) ?? Number.NaN);
    if (Number.isNaN(seconds)) break;
    await sleep(seconds * 1_000);
    told = await ask();
  }
  return told;
}
