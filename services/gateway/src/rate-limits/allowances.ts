import { LRUCache } from 'lru-cache';

export interface AllowanceSize {
  /** How much each key may spend in a minute, evenly. */
  perMinute: number;
  /** For how many minutes a key may save what it does not spend. */
  minutes: number;
}

/** What came of an attempt to spend. */
export interface Spending {
  /** Nothing is spent when it is not. */
  isAllowed: boolean;
  /** What the key may still spend at once. */
  remaining: number;
  /** Milliseconds until as much as was asked for may be spent; 0 when it is allowed. */
  waitMs: number;
  /** Milliseconds until the key has saved all that it may. */
  fullMs: number;
}

export type Spend = (key: string, amount: number) => Spending;

/** Whose key is forgotten for others' has a full allowance again; so many are remembered at once. */
const MOST_KEYS = 100_000;

/**
 * An allowance for each key that fills up evenly (a token bucket, kept as the one instant at which it is full: the
 * generic cell rate algorithm).
 *
 * @param elapsed milliseconds on a clock that never goes back
 */
export function openAllowances({ perMinute, minutes }: AllowanceSize, elapsed: () => number): Spend {
  // In whole microseconds: sums of fractions would not come out even at the last unit.
  const unit = Math.ceil(60_000_000 / perMinute);
  const whole = unit * perMinute * minutes;
  const fullAt = new LRUCache<string, number>({ max: MOST_KEYS });
  return (key, amount) => {
    const now = Math.round(elapsed() * 1_000);
    const spent = Math.max(0, (fullAt.get(key) ?? now) - now);
    const wanted = spent + amount * unit;
    const isAllowed = wanted <= whole;
    const after = isAllowed ? wanted : spent;
    if (isAllowed) fullAt.set(key, now + after);
    return {
      isAllowed,
      remaining: Math.floor((whole - after) / unit),
      waitMs: Math.max(0, wanted - whole) / 1_000,
      fullMs: after / 1_000,
    };
  };
}
