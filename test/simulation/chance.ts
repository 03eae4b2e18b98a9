import { oneOf, seededRandom } from '@kr/testbed';

/** Choices that a seed decides. */
export interface Chance {
  /** A whole number from 0 up to, not including, the bound. */
  below(bound: number): number;
  /** True once in that many times, on average; never for 0. */
  onceIn(times: number): boolean;
  oneOf<Item>(items: readonly Item[]): Item;
}

export function chance(seed: number): Chance {
  const next = seededRandom(seed);
  const below = (bound: number): number => Math.floor(next() * bound);
  return {
    below,
    onceIn: (times) => times > 0 && below(times) === 0,
    oneOf: (items) => oneOf(next, items),
  };
}
