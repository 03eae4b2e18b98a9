import { failpoint } from '@kr/failpoint';
import type { Logger } from '@kr/telemetry';
import type { BlobStore } from '../blob/blob-store.ts';
import type { Database } from '../store/prisma.ts';
import type { SweepOptions, Swept } from './swept.ts';

export interface SweepDeps {
  database: Database;
  blobs: BlobStore;
  now: () => Date;
  logger: Logger;
  /** Milliseconds without a reference after which an object is removed. */
  graceMs: number;
}

const BATCH = 500;

/**
 * Removes objects that no entry has referred to for the grace period: row first, bytes after, so that a crash leaves
 * bytes without a row and never the reverse.
 */
export async function sweepObjects(deps: SweepDeps, { isTrial = false }: SweepOptions = {}): Promise<Swept> {
  const { database, logger, now, graceMs } = deps;
  const at = now();
  const before = new Date(at.getTime() - graceMs);
  await markUnreferenced(database, at);
  const swept = isTrial ? await countUnreferenced(database, before) : await removeUnreferenced(deps, before);
  if (!isTrial && swept.count > 0) logger.info({ ...swept }, 'unreferenced objects removed');
  return swept;
}

const MARKED_AT_ONCE = 5_000;
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/**
 * Notes since when nothing has referred to an object: since the first sweep that found it so. A statement looks at some thousand
 * objects, so that it never takes longer than a statement may.
 */
async function markUnreferenced(database: Database, at: Date): Promise<void> {
  for (let position: string | null = FIRST_ID; position !== null; ) {
    const rows: { last: string | null }[] = await database.$queryRaw`
      with looked_at as (
        select id, unreferenced_at, exists (select from entry where object_id = object.id) as is_referenced
        from object where id > ${position}::uuid order by id limit ${MARKED_AT_ONCE}
      ), marked as (
        update object set unreferenced_at = case when is_referenced then null else ${at}::timestamptz end
        from looked_at
        where looked_at.id = object.id and (looked_at.unreferenced_at is not null) = is_referenced
      )
      select id::text as last from looked_at order by looked_at.id desc limit 1`;
    position = rows[0]?.last ?? null;
  }
}

async function countUnreferenced(database: Database, before: Date): Promise<Swept> {
  const [row] = await database.$queryRaw<{ count: number; bytes: bigint }[]>`
    select count(*)::int as count, coalesce(sum(size), 0)::bigint as bytes from object
    where unreferenced_at <= ${before} and not exists (select from entry where object_id = object.id)`;
  return { count: row?.count ?? 0, bytes: Number(row?.bytes ?? 0) };
}

async function removeUnreferenced({ database, blobs }: SweepDeps, before: Date): Promise<Swept> {
  const swept = { count: 0, bytes: 0 };
  await blobs.check();
  for (;;) {
    const removed = await database.$queryRaw<{ id: string; size: bigint }[]>`
      delete from object where id in (
        select id from object where unreferenced_at <= ${before} limit ${BATCH} for update skip locked)
      and not exists (select from entry where object_id = object.id)
      returning id, size`;
    if (removed.length > 0) await failpoint('files.sweep.inside');
    for (const { id, size } of removed) {
      await blobs.remove(id);
      swept.count += 1;
      swept.bytes += Number(size);
    }
    if (removed.length < BATCH) return swept;
  }
}
