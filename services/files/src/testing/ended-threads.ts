import { expect } from '@jest/globals';
import type { ContentHash } from '../blob/content-hash.ts';

/** Ends the threads of a hash like a defect: they get a request for an unknown hash. */
export async function endThreadsOf(hash: ContentHash): Promise<void> {
  // In the same threads, however many there are.
  const dropped = hash.copy();
  dropped.drop();
  await expect(dropped.update(Buffer.from('x'))).rejects.toThrow();
}
