import type { LifecycleDeps } from './lifecycle-deps.ts';
import type { LifecycleSql } from './lifecycle-sql.ts';

/** Runs a change in one transaction and wakes the relay for the events it wrote. */
export async function transact<Tx extends LifecycleSql, Result>(
  { database, nudge }: Pick<LifecycleDeps<Tx>, 'database' | 'nudge'>,
  run: (tx: Tx) => Promise<Result>,
): Promise<Result> {
  const result = await database.$transaction(run, { timeout: 10_000 });
  nudge();
  return result;
}
