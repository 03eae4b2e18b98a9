import type { ListedBlob } from '../blob/blob-store.ts';
import type { Database } from '../store/prisma.ts';
import { knownUploads } from '../tus/upload-store.ts';
import type { SweepDeps } from './sweep-objects.ts';

const BATCH = 500;

/** Removes stored bytes older than the grace period that no row names: what crashed uploads leave. Says how many. */
export async function sweepOrphans({ database, blobs, now, logger, graceMs }: SweepDeps): Promise<number> {
  const before = new Date(now().getTime() - graceMs);
  // An upload names its bytes while they come, and the object that they become until it is the entry's.
  const objects = await sweepUnknown(blobs.list(), before, {
    known: async (ids) =>
      new Set([...(await knownObjects(database, ids)), ...(await knownUploads(database, ids))]),
    remove: blobs.remove,
  });
  const incomplete = await sweepUnknown(blobs.listIncomplete(), before, {
    known: (ids) => knownUploads(database, ids),
    remove: blobs.removeIncomplete,
  });
  const count = (await blobs.removeUnfinished(before)) + objects + incomplete;
  if (count > 0) logger.info({ count }, 'orphaned bytes removed');
  return count;
}

interface Named {
  /** Which of the ids some row names. */
  known(ids: readonly string[]): Promise<Set<string>>;
  remove(id: string): Promise<void>;
}

async function sweepUnknown(
  listed: AsyncIterable<ListedBlob>,
  before: Date,
  { known, remove }: Named,
): Promise<number> {
  let count = 0;
  let batch: string[] = [];
  const sweepBatch = async () => {
    const named = batch.length === 0 ? new Set<string>() : await known(batch);
    const orphans = batch.filter((id) => !named.has(id));
    for (const id of orphans) await remove(id);
    count += orphans.length;
    batch = [];
  };
  for await (const { id, storedAt } of listed) {
    if (storedAt < before) batch.push(id);
    if (batch.length === BATCH) await sweepBatch();
  }
  await sweepBatch();
  return count;
}

async function knownObjects(database: Database, ids: readonly string[]): Promise<Set<string>> {
  const known = await database.storedObject.findMany({
    where: { id: { in: [...ids] } },
    select: { id: true },
  });
  return new Set(known.map(({ id }) => id));
}
