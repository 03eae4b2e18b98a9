import type { PublicationTimes } from '../../services/packages/src/publish/publication-store.ts';
import type { PublishLimits } from '../../services/packages/src/publish/publish-saga.ts';
import { type Chance, chance } from './chance.ts';
import { type Faults, someFaults, withoutFaults } from './faults.ts';
import { AS_BUILT, type Variation } from './variation.ts';

export interface PackagePlan {
  readonly id: string;
  readonly parentId: string;
  /** In order. The package manages those of which it is the first to be named. */
  readonly resourceIds: readonly string[];
}

/** Everything that a seed decides before the history begins; a failing one prints it whole. */
export interface Plan {
  readonly seed: number;
  readonly variation: Variation;
  readonly faults: Faults;
  readonly times: PublicationTimes;
  readonly limits: PublishLimits;
  readonly scanEveryMs: number;
  /** Number of resources prepared in one step: one or all. */
  readonly partBytes: number;
  readonly packages: readonly PackagePlan[];
  /** A resource of the second package that was published before. */
  readonly publishedBefore: string;
  readonly publishers: number;
  readonly editors: number;
  readonly readers: number;
  /** Milliseconds in which clients are busy and everything may fail. */
  readonly busyMs: number;
}

export interface PlanOptions {
  readonly seed: number;
  readonly hasFaults: boolean;
  readonly variation?: Variation;
}

export function planOf({ seed, hasFaults, variation = AS_BUILT }: PlanOptions): Plan {
  const choose: Chance = chance(seed);
  return {
    seed,
    variation,
    faults: hasFaults ? someFaults(choose) : withoutFaults(),
    // The defaults, or so short that publications are aborted while their owner is paused.
    times: choose.oneOf([
      { leaseMs: 10_000, deadlineMs: 30_000 },
      { leaseMs: 3_000, deadlineMs: 11_000 },
      { leaseMs: 1_000, deadlineMs: 4_000 },
    ]),
    limits: { blockedMs: 1_000, reachMs: 5_000, retryMs: 100, maxBytes: 1_000_000 },
    partBytes: seed % 2 === 0 ? 1 : 1_000_000,
    scanEveryMs: 1_000,
    packages: [
      { id: 'package-a', parentId: 'parent-a', resourceIds: ['resource-1', 'resource-2', 'resource-3'] },
      { id: 'package-b', parentId: 'parent-b', resourceIds: ['resource-3', 'resource-4', 'resource-old'] },
    ],
    publishedBefore: 'resource-old',
    publishers: 3,
    editors: 2,
    readers: 3,
    busyMs: 25_000,
  };
}
