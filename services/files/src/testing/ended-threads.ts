import { expect } from '@jest/globals';
import type { ContentHash } from '../blob/content-hash.ts';

/** Ends the threads of a hash like a defect: they get something that is no bytes. */
export async function endThreadsOf(hash: ContentHash): Promise<void> {
  const bytes = { buffer: new SharedArrayBuffer(1) } as Uint8Array;
  const copy = hash.copy();
  await expect(copy.update(bytes)).rejects.toThrow();
  copy.drop();
}
