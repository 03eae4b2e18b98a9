/** Memory for bytes on their way in: what is given back is used again, so that uploads cost no garbage. */
export interface ChunkBuffers {
  /** A buffer of `CHUNK_BYTES`, with anything in it, which other threads can read. */
  take(): Buffer;
  give(buffer: Buffer): void;
}

export const CHUNK_BYTES = 524_288;

/** What is kept for the next uploads when all are over: 8 MiB. */
const MOST_KEPT = 16;

export function chunkBuffers(): ChunkBuffers {
  const free: Buffer[] = [];
  return {
    take: () => free.pop() ?? Buffer.from(new SharedArrayBuffer(CHUNK_BYTES)),
    give: (buffer) => {
      if (free.length < MOST_KEPT) free.push(buffer);
    },
  };
}
