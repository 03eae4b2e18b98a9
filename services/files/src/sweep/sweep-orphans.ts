import type { Database } from '../store/prisma.ts';
import type { SweepDeps } from './sweep-objects.ts';

const BATCH = 500;

/** Removes stored bytes older than the grace period that no row names: what crashed uploads leave. Says how many. */
export async function sweepOrphans({ database, blobs, now, logger, graceMs }: SweepDeps): Promise<number> {
  const before = new Date(now().getTime() - graceMs);
  let count = await blobs.removeUnfinished(before);
  let batch: string[] = [];
  const sweepBatch = async () => {
    const orphans = await unknownIds(database, batch);
    for (const id of orphans) await blobs.remove(id);
    count += orphans.length;
    batch = [];
  };
  for await (const { id, storedAt } of blobs.list()) {
    if (storedAt < before) batch.push(id);
    if (batch.length === BATCH) await sweepBatch();
  }
  await sweepBatch();
  if (count > 0) logger.info({ count }, 'orphaned bytes removed');
  return count;
}

async function unknownIds(database: Database, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const known = await database.storedObject.findMany({
    where: { id: { in: [...ids] } },
    select: { id: true },
  });
  const knownIds = new Set(known.map(({ id }) => id));
  return ids.filter((id) => !knownIds.has(id));
}
