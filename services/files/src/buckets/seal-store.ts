import type { Sql } from '@kr/database';
import { failpoint } from '@kr/failpoint';
import type { Bucket, BucketDescription, LockedBucket } from '../store/bucket-store.ts';
import type { Fence } from './fence-rules.ts';

export interface HeldBucket extends Bucket {
  entityId: string;
}

/** The entities that one publication seals. */
export interface SealOf {
  publicationId: string;
  /** That of its owner. */
  epoch: number;
  entityIds: readonly string[];
}

/**
 * The store operations of publications and of the changes that seals exclude. `T` is a transaction: its locks are
 * released at its end, and its writes are undone when it fails.
 */
export interface SealStore<T = Sql> {
  /** For a statement by itself. */
  readonly outside: T;
  transaction<Result>(run: (tx: T) => Promise<Result>): Promise<Result>;

  /** Locks what is known of a publication; undefined when nothing was known. */
  lockFence(tx: T, publicationId: string, now: Date): Promise<Fence | undefined>;
  /** Remembers what was answered where no bucket changes; the fence is locked. */
  saveFence(tx: T, publicationId: string, fence: Fence, now: Date): Promise<void>;

  /** Locks the buckets of these entities in a fixed order, and creates the missing ones. */
  lockBuckets(tx: T, entityIds: readonly string[], newId: () => string, at: Date): Promise<HeldBucket[]>;
  /** Seals the open ones among the locked buckets, stores the vote, and returns the contents of all. */
  seal(tx: T, seal: SealOf, at: Date): Promise<BucketDescription[]>;
  /**
   * The buckets sealed by the publication become immutable, except those not listed here, which are opened again; null means all. The
   * decision is stored as applied.
   */
  applySeal(tx: T, publicationId: string, publishedIds: readonly string[] | null, at: Date): Promise<void>;
  /** The buckets sealed by the publication are opened again, and the decision is stored as aborted. */
  undoSeal(tx: T, publicationId: string, at: Date): Promise<void>;
  /** Whether they were sealed or not. */
  makeImmutable(tx: T, entityIds: readonly string[], newId: () => string, at: Date): Promise<void>;
  /** The publications that sealed something before an instant. */
  sealedBefore(tx: T, instant: Date, limit: number): Promise<string[]>;

  /** One description for each id, in the same order; an unknown bucket counts as an empty one. */
  describeEntities(tx: T, entityIds: readonly string[]): Promise<BucketDescription[]>;
  findBucket(tx: T, entityId: string): Promise<Bucket | undefined>;
  /** Locks an open bucket for one change, making it first where there is none; undefined when it is not open. */
  lockOpenBucket(tx: T, entityId: string, newBucketId: string, now: Date): Promise<LockedBucket | undefined>;
}

/** The store with a failpoint where a transaction has written all and is not committed: with the fence all is written. */
export function failingSeals<T>(seals: SealStore<T>): SealStore<T> {
  const decided = () => failpoint('files.decide.inside');
  return {
    ...seals,
    async seal(...given) {
      const buckets = await seals.seal(...given);
      await failpoint('files.seal.inside');
      return buckets;
    },
    applySeal: (...given) => seals.applySeal(...given).then(decided),
    undoSeal: (...given) => seals.undoSeal(...given).then(decided),
    saveFence: (...given) => seals.saveFence(...given).then(decided),
  };
}
