import type { ListedBlob } from '../blob/blob-store.ts';
import type { Database } from '../store/prisma.ts';
import { endReservations, type NamedIn, unnamed } from './named-bytes.ts';
import type { SweepDeps } from './sweep-objects.ts';
import type { SweepOptions, Swept } from './swept.ts';

const BATCH = 500;

/**
 * Removes stored bytes older than the grace period that no row names: what crashed uploads leave. Bytes get their name
 * before they come: of an upload at once in the room that is promised to it, which ends in the transaction that makes
 * them an object; of a resumable one in its row. So what is looked at and is nobody's never becomes anybody's.
 */
export async function sweepOrphans(deps: SweepDeps, { isTrial = false }: SweepOptions = {}): Promise<Swept> {
  const { database, blobs, now, logger, graceMs } = deps;
  const before = new Date(now().getTime() - graceMs);
  const swept: Swept = { count: 0, bytes: 0 };

  const sweep = async <Listed extends ListedBlob>(
    listed: AsyncIterable<Listed>,
    namedIn: NamedIn,
    remove: (found: Listed) => Promise<void>,
  ): Promise<void> => {
    for await (const batch of batches(olderThan(before, listed))) {
      for (const found of await orphansOf(database, batch, { namedIn, before, isTrial })) {
        if (!isTrial) await remove(found);
        swept.count += 1;
        swept.bytes += found.sizeBytes;
      }
    }
  };
  await sweep(blobs.list(), 'objects and uploads', ({ id }) => blobs.remove(id));
  await sweep(blobs.listIncomplete(), 'uploads', ({ id }) => blobs.removeIncomplete(id));
  await sweep(blobs.listUnfinished(before), 'unfinished uploads', (found) => found.remove());
  if (!isTrial && swept.count > 0) logger.info({ ...swept }, 'orphaned bytes removed');
  return swept;
}

async function orphansOf<Listed extends ListedBlob>(
  database: Database,
  batch: readonly Listed[],
  { namedIn, before, isTrial }: { namedIn: NamedIn; before: Date; isTrial: boolean },
): Promise<Listed[]> {
  const ids = batch.map(({ id }) => id);
  if (!isTrial) await endReservations(database, ids, before);
  const nobodys = await unnamed(database, ids, { namedIn, before });
  return batch.filter(({ id }) => nobodys.has(id));
}

async function* olderThan<Listed extends ListedBlob>(
  before: Date,
  listed: AsyncIterable<Listed>,
): AsyncGenerator<Listed> {
  for await (const found of listed) if (found.storedAt < before) yield found;
}

async function* batches<Item>(items: AsyncIterable<Item>): AsyncGenerator<Item[]> {
  let batch: Item[] = [];
  for await (const item of items) {
    batch.push(item);
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
