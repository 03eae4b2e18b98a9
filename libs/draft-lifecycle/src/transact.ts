import type { Sql } from '@kr/database';
import type { LifecycleDeps } from './lifecycle-deps.ts';

/** Runs a change in one transaction and wakes the relay for the events it wrote. */
export async function transact<Result>(
  { database, nudge }: Pick<LifecycleDeps, 'database' | 'nudge'>,
  run: (tx: Sql) => Promise<Result>,
): Promise<Result> {
  const result = await database.$transaction(run, { timeout: 10_000 });
  nudge();
  return result;
}
