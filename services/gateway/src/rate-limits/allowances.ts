import { LRUCache } from 'lru-cache';

export interface AllowanceSize {
  /** How much each key may spend in a minute, evenly. */
  perMinute: number;
  /** For how many minutes a key may save what it does not spend. */
  minutes: number;
}

/** What came of an attempt to spend. */
export interface Spending {
  /** Whether anything was left. */
  isAllowed: boolean;
  /** What the key may still spend at once. */
  remaining: number;
  /** Milliseconds until something is left again; 0 when it is allowed. */
  waitMs: number;
  /** Milliseconds until the key has saved all that it may. */
  fullMs: number;
}

export interface Allowances {
  /** Spends if anything is left. What is more than that is owed: who asks for much waits no longer than others. */
  spend(key: string, amount: number): Spending;
  /** Spends, whether anything is left or not. */
  charge(key: string, amount: number): Spending;
}

/** Whose key is forgotten for others' has a full allowance again; so many are remembered at once. */
const MOST_KEYS = 100_000;

/**
 * An allowance for each key that fills up evenly (a token bucket, kept as the one instant at which it is full: the
 * generic cell rate algorithm).
 *
 * @param elapsed milliseconds on a clock that never goes back
 */
export function openAllowances({ perMinute, minutes }: AllowanceSize, elapsed: () => number): Allowances {
  // In whole microseconds: sums of fractions would not come out even at the last unit.
  const unit = Math.ceil(60_000_000 / perMinute);
  const whole = unit * perMinute * minutes;
  const fullAt = new LRUCache<string, number>({ max: MOST_KEYS });

  function take(key: string, amount: number, { isOwed }: { isOwed: boolean }): Spending {
    const now = Math.round(elapsed() * 1_000);
    const spent = Math.max(0, (fullAt.get(key) ?? now) - now);
    const isAllowed = spent + unit <= whole;
    const after = isAllowed || isOwed ? spent + amount * unit : spent;
    if (after > spent) fullAt.set(key, now + after);
    return {
      isAllowed,
      remaining: Math.max(0, Math.floor((whole - after) / unit)),
      waitMs: isAllowed ? 0 : (after + unit - whole) / 1_000,
      fullMs: after / 1_000,
    };
  }

  return {
    spend: (key, amount) => take(key, amount, { isOwed: false }),
    charge: (key, amount) => take(key, amount, { isOwed: true }),
  };
}
