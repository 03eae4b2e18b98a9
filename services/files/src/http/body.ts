import type { IncomingMessage } from 'node:http';
import { release } from '@kr/byte-relay';

/** Buffers for arriving bytes; returned ones are used again, so that uploads cause no garbage. */
export interface ChunkBuffers {
  /** A buffer of `CHUNK_BYTES`, with anything in it, which other threads can read. */
  take(): Buffer;
  give(buffer: Buffer): void;
}

export const CHUNK_BYTES = 524_288;

/** The buffers kept for later uploads when all are finished: 8 MiB. */
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

export interface ProgressLimits {
  /** Milliseconds over which progress is measured. */
  idleMs: number;
  /** Bytes a second that must arrive on average over each `idleMs`. */
  minBytesPerSecond: number;
}

export interface GatheredBodyOptions {
  buffers: ChunkBuffers;
  progress: ProgressLimits;
  /**
   * Called once, when too few bytes have arrived although there was room and the body has not ended. Node's limit counts
   * the time of the whole body.
   */
  onStall: () => void;
}

/** How many buffers one request may have filled before they are taken. */
const MOST_FULL = 3;

/**
 * The body of a request in chunks of `CHUNK_BYTES`, of which the last is shorter. A chunk is valid until the next is
 * requested; more bytes are buffered meanwhile. Bytes received before the body is aborted are yielded before the error. The request
 * stays usable when the reader stops early.
 */
export async function* bufferedBody(
  request: IncomingMessage,
  { buffers, progress, onStall }: GatheredBodyOptions,
): AsyncGenerator<Uint8Array> {
  const full: Buffer[] = [];
  let filling: Buffer | undefined;
  let filled = 0;
  let arrived = 0;
  let end: { error?: unknown } | undefined;
  let wake = () => {};

  const take = (bytes: Uint8Array) => {
    arrived += bytes.length;
    for (let taken = 0; taken < bytes.length; ) {
      filling ??= buffers.take();
      const part = bytes.subarray(taken, taken + CHUNK_BYTES - filled);
      // `set` goes word by word where memory is shared, and takes three times as long.
      filling.fill(part, filled, filled + part.length);
      taken += part.length;
      filled += part.length;
      if (filled < CHUNK_BYTES) continue;
      full.push(filling);
      [filling, filled] = [undefined, 0];
    }
    release(bytes);
    if (full.length >= MOST_FULL) request.pause();
    if (full.length > 0) wake();
  };
  const least = Math.max(1, (progress.minBytesPerSecond * progress.idleMs) / 1_000);
  const timer = setInterval(() => {
    if (arrived < least && full.length === 0) {
      clearInterval(timer);
      onStall();
    }
    arrived = 0;
  }, progress.idleMs);
  const finish = (error?: unknown) => {
    end ??= error === undefined ? {} : { error };
    clearInterval(timer);
    wake();
  };
  const onClose = () => finish(new Error('the body has ended early'));
  const onEnd = () => finish();
  request.on('data', take).once('end', onEnd).once('error', finish).once('close', onClose);
  if (request.destroyed) onClose();

  try {
    for (;;) {
      const chunk = full.shift();
      if (chunk !== undefined) {
        request.resume();
        yield chunk;
        buffers.give(chunk);
      } else if (end === undefined) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      } else {
        const last = filling;
        filling = undefined;
        if (last !== undefined) {
          yield last.subarray(0, filled);
          buffers.give(last);
        }
        if ('error' in end) throw end.error;
        return;
      }
    }
  } finally {
    clearInterval(timer);
    request.off('data', take).off('end', onEnd).off('error', finish).off('close', onClose).pause();
    for (const left of full) buffers.give(left);
    if (filling !== undefined) buffers.give(filling);
  }
}
