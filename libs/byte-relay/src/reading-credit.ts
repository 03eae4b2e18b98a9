/** Bytes of one write that may be buffered before any of it counts as read. */
const FIRST_BYTES = 65_536;

interface ReadingLimits {
  /** Minimum average rate. */
  minBytesPerSecond: number;
  /**
   * Maximum credit in bytes. It must exceed the buffer of the operating system: a steady reader otherwise appears idle for
   * minutes, because the system requests a whole buffer at once.
   */
  maxCreditBytes: number;
}

/**
 * Tracks the rate of a reader. Each second in which bytes wait costs `minBytesPerSecond`. Call the returned function once
 * per second with the bytes read in it; it returns whether the reader is fast enough.
 */
export function readingCredit({ minBytesPerSecond, maxCreditBytes }: ReadingLimits) {
  let credit = FIRST_BYTES;
  return ({ readBytes, isWaiting }: { readBytes: number; isWaiting: boolean }): boolean => {
    const left = credit + readBytes - (isWaiting ? minBytesPerSecond : 0);
    credit = Math.min(maxCreditBytes, left);
    return left >= 0;
  };
}
