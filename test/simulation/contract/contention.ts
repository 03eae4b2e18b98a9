import { expect } from '@jest/globals';
import type { Sql } from '@kr/database';
import type { LifecycleStore } from '@kr/draft-lifecycle';
import { until } from '@kr/testbed';
import { documentOf } from '../documents.ts';
import type { CalmMemory } from './twins.ts';

export interface Contention {
  readonly memory: CalmMemory;
  readonly sql: Sql;
  /** A transaction that takes the locks, does what it is given, writes and ends. */
  readonly holding: Readonly<Record<'memory' | 'sql', (then: () => Promise<void>) => Promise<unknown>>>;
  /** A transaction that needs one of the locks and returns the state that it reads. */
  readonly waiting: Readonly<Record<'memory' | 'sql', () => Promise<unknown>>>;
  readonly expected: unknown;
}

/** The second one begins while the first one holds its locks, is seen waiting, and ends after it. */
export async function contention({ memory, sql, holding, waiting, expected }: Contention): Promise<void> {
  const seenBy = async (of: 'memory' | 'sql', untilWaiting: () => Promise<void>): Promise<unknown> => {
    let second: Promise<unknown> = Promise.resolve();
    await holding[of](async () => {
      second = waiting[of]();
      await untilWaiting();
    });
    return second;
  };
  expect(await memory.inTime(() => seenBy('memory', memory.untilWaiting))).toEqual(expected);
  expect(await seenBy('sql', async () => void (await until(() => isSomebodyWaiting(sql))))).toEqual(expected);
}

/** Locks a draft: a vote for the publication `held`. */
export function holdDraft(store: LifecycleStore, tx: Sql, id: string): Promise<void> {
  const vote = {
    publicationId: 'held',
    state: 'prepared',
    epoch: 1,
    packageId: '',
    packageParentId: '',
    actor: null,
  } as const;
  const { files, pids } = documentOf('record');
  const form = { id, publishedParts: { files, pids }, revision: 9 };
  return store.writeVote(tx, { ...vote, stagedIds: [id], unchangedIds: [], issues: [] }, [form], new Date(0));
}

async function isSomebodyWaiting(sql: Sql): Promise<boolean> {
  const [row] = await sql.$queryRawUnsafe<{ waiting: number }[]>(
    `select count(*)::int as waiting from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock'`,
  );
  return (row?.waiting ?? 0) > 0;
}
