import type { ServerResponse } from 'node:http';
import { readingCredit } from './reading-credit.ts';

/** Intervals are counted, not measured, so that a paused process does not penalise readers. */
const LOOK_EVERY_MS = 1_000;

/** Linux buffers up to 4 MiB per connection and requests more when a third of that is sent. */
const MAX_SAVED_BYTES = 4_194_304;

export interface SlowReading {
  /** Bytes a second that must be read on average. */
  minBytesPerSecond: number;
  /** Bytes read ahead of the minimum rate that count as credit (default 4 MiB). */
  mostSavedBytes?: number;
  /** Called before the connection ends. */
  onSlow?: () => void;
}

/**
 * Ends the connection of an answer when too little of it is read while bytes of it wait. No other limit on the silence of the
 * connection holds meanwhile: from here a steady reader behind large buffers looks silent for long.
 */
export function endSlowReading(
  response: ServerResponse,
  { minBytesPerSecond, mostSavedBytes = MAX_SAVED_BYTES, onSlow }: SlowReading,
): void {
  // `close` was already emitted and will not be emitted again.
  if (response.destroyed) return;
  const { socket } = response.req;
  const isWorthIt = readingCredit({ minBytesPerSecond, mostSavedBytes });
  const taken = () => (response.socket === null ? 0 : socket.bytesWritten - socket.writableLength);
  let takenBefore = taken();
  let wasWaiting = false;
  const watching = setInterval(() => {
    const [takenNow, isWaitingNow] = [taken(), response.writableLength > 0];
    const isReading = isWorthIt({
      takenBytes: takenNow - takenBefore,
      isWaiting: wasWaiting && isWaitingNow,
    });
    [takenBefore, wasWaiting] = [takenNow, isWaitingNow];
    if (isReading) return;
    clearInterval(watching);
    onSlow?.();
    socket.destroy();
  }, LOOK_EVERY_MS).unref();
  socket.setTimeout(0);
  response.once('close', () => clearInterval(watching));
}
