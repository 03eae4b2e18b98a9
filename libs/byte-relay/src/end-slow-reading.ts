import type { ServerResponse } from 'node:http';
import { readingCredit } from './reading-credit.ts';

/** Intervals are counted, not measured, so that a paused process does not penalise readers. */
const CHECK_EVERY_MS = 1_000;

/** Linux buffers up to 4 MiB per connection and requests more when a third of that is sent. */
const MAX_CREDIT_BYTES = 4_194_304;

export interface SlowReading {
  /** Bytes a second that must be read on average. */
  minBytesPerSecond: number;
  /** Bytes read ahead of the minimum rate that count as credit (default 4 MiB). */
  maxCreditBytes?: number;
  /** Called before the connection ends. */
  onSlow?: () => void;
}

/**
 * Ends the connection of an answer when too little of it is read while bytes of it wait. The idle timeout of the socket is off
 * meanwhile: large buffers make a steady reader look idle.
 */
export function endSlowReading(
  response: ServerResponse,
  { minBytesPerSecond, maxCreditBytes = MAX_CREDIT_BYTES, onSlow }: SlowReading,
): void {
  // `close` was already emitted and will not be emitted again.
  if (response.destroyed) return;
  const { socket } = response.req;
  const isFastEnough = readingCredit({ minBytesPerSecond, maxCreditBytes: maxCreditBytes });
  const bytesRead = () => (response.socket === null ? 0 : socket.bytesWritten - socket.writableLength);
  let readBefore = bytesRead();
  let wasWaiting = false;
  const timer = setInterval(() => {
    const [readNow, isWaitingNow] = [bytesRead(), response.writableLength > 0];
    const isReading = isFastEnough({
      readBytes: readNow - readBefore,
      isWaiting: wasWaiting && isWaitingNow,
    });
    [readBefore, wasWaiting] = [readNow, isWaitingNow];
    if (isReading) return;
    clearInterval(timer);
    onSlow?.();
    socket.destroy();
  }, CHECK_EVERY_MS).unref();
  socket.setTimeout(0);
  response.once('close', () => clearInterval(timer));
}
