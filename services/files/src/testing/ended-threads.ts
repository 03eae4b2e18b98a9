import { expect } from '@jest/globals';
import type { ContentHash } from '../blob/content-hash.ts';

/** Ends the threads of a hash as a defect would: they are asked about a hash that they do not have. */
export async function endThreadsOf(hash: ContentHash): Promise<void> {
  // In the same threads, however many there are.
  const dropped = hash.copy();
  dropped.drop();
  await expect(dropped.update(Buffer.from('x'))).rejects.toThrow();
}
