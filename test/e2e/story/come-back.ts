import { setTimeout as sleep } from 'node:timers/promises';

/** How often somebody comes back who is told to. */
const COMEBACKS = 20;

/** Comes back when it is told to, as clients should: a machine under load may not finish in time. */
export async function comingBack<Told extends { status: number }>(
  ask: () => Promise<Told>,
  retryAfterOf: (told: Told) => string | null | undefined,
): Promise<Told> {
  let told = await ask();
  for (let again = 0; again < COMEBACKS && told.status === 503; again += 1) {
    const seconds = Number(retryAfterOf(told) ?? Number.NaN);
    if (Number.isNaN(seconds)) break;
    await sleep(seconds * 1_000);
    told = await ask();
  }
  return told;
}
