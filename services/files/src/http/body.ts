import type { IncomingMessage } from 'node:http';
import { release } from '@kr/byte-relay';
import type { ContentHash } from '../blob/content-hash.ts';

/** A pool of buffers for arriving bytes, so that uploads cause no garbage. */
export interface ChunkBuffers {
  /** An uninitialised buffer of `CHUNK_BYTES`, which other threads can read. */
  acquire(): Buffer;
  release(buffer: Buffer): void;
}

export const CHUNK_BYTES = 524_288;

/** Buffers that the pool stores for later uploads: 8 MiB. */
const MAX_FREE_BUFFERS = 16;

export function chunkBuffers(): ChunkBuffers {
  const free: Buffer[] = [];
  return {
    acquire: () => free.pop() ?? Buffer.from(new SharedArrayBuffer(CHUNK_BYTES)),
    release: (buffer) => {
      if (free.length < MAX_FREE_BUFFERS) free.push(buffer);
    },
  };
}

export interface ProgressLimits {
  /** Milliseconds over which progress is measured. */
  idleMs: number;
  /** Bytes a second that must arrive on average over each `idleMs`. */
  minBytesPerSecond: number;
}

/** Functions that read the chunks of a body before they are stored. */
export interface BodyReader {
  /** Called before a chunk is yielded, with the bytes received so far. If it throws, the body ends with that error. */
  admit: (totalBytes: number) => Promise<void>;
  /** Reads each chunk, at most two chunks behind the reader of the body. */
  hash: Pick<ContentHash, 'update'>;
}

export interface BufferedBodyOptions extends BodyReader {
  buffers: ChunkBuffers;
  progress: ProgressLimits;
  /**
   * Called once, when too few bytes have arrived although there was room and the body has not ended. Node's limit counts
   * the time of the whole body.
   */
  onStall: () => void;
}

/** Filled buffers of one request that the reader has not received. */
const MAX_FULL_BUFFERS = 2;
/** Chunks by which the reader may be ahead of the hash. */
const MAX_UNHASHED_CHUNKS = 2;

/**
 * The body of a request in chunks of `CHUNK_BYTES`, of which the last is shorter. A chunk is valid until the next is
 * requested; more bytes are buffered meanwhile. Bytes received before the body is aborted are yielded before the error. At the end
 * all chunks are hashed. The request stays usable when the reader stops early.
 */
export async function* bufferedBody(
  request: IncomingMessage,
  { buffers, progress, onStall, admit, hash }: BufferedBodyOptions,
): AsyncGenerator<Uint8Array> {
  const full: { buffer: Buffer; bytes: number }[] = [];
  /** Yielded buffers that the hash may still read, the oldest first. */
  const hashing: { buffer: Buffer; hashed: Promise<void> }[] = [];
  let filling: Buffer | undefined;
  let filled = 0;
  let arrived = 0;
  let totalBytes = 0;
  let end: { error?: unknown } | undefined;
  let wake = () => {};

  const endBuffer = () => {
    if (filling !== undefined) full.push({ buffer: filling, bytes: filled });
    [filling, filled] = [undefined, 0];
  };
  const fill = (bytes: Uint8Array) => {
    arrived += bytes.length;
    for (let taken = 0; taken < bytes.length; ) {
      filling ??= buffers.acquire();
      const part = bytes.subarray(taken, taken + CHUNK_BYTES - filled);
      // `set` goes word by word where memory is shared, and takes three times as long.
      filling.fill(part, filled, filled + part.length);
      taken += part.length;
      filled += part.length;
      if (filled === CHUNK_BYTES) endBuffer();
    }
    release(bytes);
    if (full.length >= MAX_FULL_BUFFERS) request.pause();
    if (full.length > 0) wake();
  };
  const minBytes = Math.max(1, (progress.minBytesPerSecond * progress.idleMs) / 1_000);
  const timer = setInterval(() => {
    if (arrived < minBytes && full.length === 0) {
      clearInterval(timer);
      onStall();
    }
    arrived = 0;
  }, progress.idleMs);
  const finish = (error?: unknown) => {
    end ??= error === undefined ? {} : { error };
    clearInterval(timer);
    endBuffer();
    wake();
  };
  const onClose = () => finish(new Error('the body has ended early'));
  const onEnd = () => finish();
  request.on('data', fill).once('end', onEnd).once('error', finish).once('close', onClose);
  if (request.destroyed) onClose();

  try {
    for (;;) {
      const next = full.shift();
      if (next === undefined) {
        if (end !== undefined) break;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        continue;
      }
      request.resume();
      const chunk = next.buffer.subarray(0, next.bytes);
      const use = { buffer: next.buffer, hashed: Promise.resolve() };
      hashing.push(use);
      totalBytes += chunk.length;
      await admit(totalBytes);
      use.hashed = hash.update(chunk);
      // The error is thrown when the promise is awaited, which may be two chunks later.
      use.hashed.catch(() => {});
      yield chunk;
      const [oldest] = hashing;
      if (oldest === undefined || hashing.length <= MAX_UNHASHED_CHUNKS) continue;
      await oldest.hashed;
      buffers.release(oldest.buffer);
      hashing.shift();
    }
    for (const { hashed } of hashing) await hashed;
    if ('error' in end) throw end.error;
  } finally {
    clearInterval(timer);
    request.off('data', fill).off('end', onEnd).off('error', finish).off('close', onClose).pause();
    await Promise.allSettled(hashing.map(({ hashed }) => hashed));
    for (const { buffer } of [...hashing, ...full]) buffers.release(buffer);
    if (filling !== undefined) buffers.release(filling);
  }
}
