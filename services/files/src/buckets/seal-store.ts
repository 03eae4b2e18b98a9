import { failpoint } from '@kr/failpoint';
import type { Bucket, BucketDescription, LockedBucket } from '../store/bucket-store.ts';
import type { Tx } from '../store/prisma.ts';
import type { Fence } from './fence-rules.ts';

export interface HeldBucket extends Bucket {
  entityId: string;
}

/** What one publication wants closed. */
export interface SealOf {
  publicationId: string;
  /** That of its owner. */
  epoch: number;
  entityIds: readonly string[];
}

/**
 * What publications and the changes they must keep out need of the store. `T` is a transaction: what it locks stays
 * locked until it ends, and what it wrote is gone when it fails.
 */
export interface SealStore<T = Tx> {
  /** For a statement by itself. */
  readonly outside: T;
  transaction<Result>(run: (tx: T) => Promise<Result>): Promise<Result>;

  /** Locks what is known of a publication; undefined when nothing was known. */
  lockFence(tx: T, publicationId: string, now: Date): Promise<Fence | undefined>;
  /** Remembers what was answered where no bucket changes; the fence is locked. */
  saveFence(tx: T, publicationId: string, fence: Fence, now: Date): Promise<void>;

  /** Locks the buckets of these entities in one order for everybody, making those that are missing. */
  lockBuckets(tx: T, entityIds: readonly string[], newId: () => string, at: Date): Promise<HeldBucket[]>;
  /** Closes those of the locked buckets that are open, remembers it, and answers with what is in all of them. */
  seal(tx: T, seal: SealOf, at: Date): Promise<BucketDescription[]>;
  /**
   * What the publication sealed becomes immutable, or opens again where it is not among these; null is all. It is
   * remembered as applied.
   */
  applySeal(tx: T, publicationId: string, publishedIds: readonly string[] | null, at: Date): Promise<void>;
  /** What the publication sealed is opened again, which is remembered as aborted. */
  undoSeal(tx: T, publicationId: string, at: Date): Promise<void>;
  /** Whether they were sealed or not. */
  makeImmutable(tx: T, entityIds: readonly string[], newId: () => string, at: Date): Promise<void>;
  /** The publications that sealed something before an instant. */
  sealedBefore(tx: T, instant: Date, limit: number): Promise<string[]>;

  /** One description for each id, in the order asked; an unknown bucket is an empty one. */
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
