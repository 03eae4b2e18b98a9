/** What one write holds back before any of it counts as taken, in bytes. */
const FIRST_BYTES = 65_536;

interface ReadingLimits {
  /** What whoever reads must take on average. */
  minBytesPerSecond: number;
  /**
   * How much of what was taken faster counts for later, in bytes: more than what a system keeps for a slow reader and asks
   * for at once, else one who reads steadily looks as if he took nothing for minutes.
   */
  mostSavedBytes: number;
}

/**
 * An account of what a reader takes. Each second in which bytes wait costs the least that he must take; the function that is
 * given is told of one, with the bytes taken in it, and says whether the reader is still worth waiting for.
 */
export function readingCredit({ minBytesPerSecond, mostSavedBytes }: ReadingLimits) {
  let credit = FIRST_BYTES;
  return ({ takenBytes, isWaiting }: { takenBytes: number; isWaiting: boolean }): boolean => {
    const left = credit + takenBytes - (isWaiting ? minBytesPerSecond : 0);
    credit = Math.min(mostSavedBytes, left);
    return left >= 0;
  };
}
