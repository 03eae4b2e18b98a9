import { auditEntry } from '@kr/audit-trail';
import { servicePrincipal } from '@kr/caller';
import type { LifecycleContext } from './lifecycle-context.ts';
import { transact } from './transact.ts';

const EVERY_MS = 3_600_000;
const BATCH = 100;

/**
 * Ends the retention of entities that were removed `retentionMs` ago: from then on they cannot be restored, and the files
 * service deletes their files. Safe to run in several processes at once.
 *
 * @returns how many entities these were
 */
export async function purgeRemoved(context: LifecycleContext, retentionMs: number): Promise<number> {
  const now = context.now();
  const before = new Date(now.getTime() - retentionMs);
  let purged = 0;
  for (;;) {
    const rows = await transact(context, async (tx) => {
      const rows = await tx.$queryRawUnsafe<{ id: string; parent_id: string; revision: bigint }[]>(
        `update version set purged_at = $1::timestamptz where id in (
           select id from version where removed_at <= $2::timestamptz and purged_at is null
           order by id limit ${BATCH} for update skip locked)
         returning id, parent_id, revision`,
        now.toISOString(),
        before.toISOString(),
      );
      await context.store.tell(tx, {
        events: rows.map(({ id, parent_id: parentId, revision }) =>
          context.kind.events.purged({ id, parentId, revision: Number(revision) }),
        ),
        entries: rows.map(({ id, parent_id: parentId }) =>
          auditEntry(servicePrincipal(`${context.kind.name}s`), 'entity.purge', { id, parentId }),
        ),
      });
      return rows;
    });
    purged += rows.length;
    if (rows.length < BATCH) return purged;
  }
}

/** Purges at once and every hour. */
export function startPurging(context: LifecycleContext, retentionMs: number): { stop(): void } {
  const run = () =>
    void purgeRemoved(context, retentionMs).catch((err: unknown) => {
      context.logger.warn({ err }, 'purging removed entities failed; the next run tries again');
    });
  run();
  const timer = setInterval(run, EVERY_MS);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}
