import type { IncomingMessage } from 'node:http';

export interface ProgressLimits {
  /** Milliseconds over which progress is measured. */
  idleMs: number;
  /** Bytes a second that must arrive on average over each `idleMs`. */
  minBytesPerSecond: number;
}

/**
 * The chunks of a request's body as they come; the request stays usable when the reader stops early. Node's own limit
 * counts the time of the whole body, this one only what does not move: `onStall` is called when too little has come.
 */
export async function* watchProgress(
  request: IncomingMessage,
  { idleMs, minBytesPerSecond }: ProgressLimits,
  onStall: () => void,
): AsyncGenerator<Uint8Array> {
  let arrived = 0;
  const least = Math.max(1, (minBytesPerSecond * idleMs) / 1_000);
  const timer = setInterval(() => {
    if (arrived < least) onStall();
    arrived = 0;
  }, idleMs);
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      arrived += chunk.length;
      yield chunk;
    }
  } finally {
    clearInterval(timer);
  }
}
