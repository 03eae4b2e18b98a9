import type { BlobStore } from '../blob/blob-store.ts';

/** Removes what writes have left that were last active before the instant; says of how many. */
export async function removeUnfinished(store: BlobStore, before: Date): Promise<number> {
  let count = 0;
  for await (const write of store.listUnfinished(before)) {
    await write.remove();
    count += 1;
  }
  return count;
}
