import type { BucketDescription } from '../store/describe-entities.ts';
import type { Tx } from '../store/prisma.ts';
import { onSeal } from './fence-rules.ts';
import type { SealOf, SealStore } from './seal-store.ts';

export interface SealPublicationDeps<T = Tx> {
  seals: SealStore<T>;
  now: () => Date;
  newId: () => string;
}

export type SealOutcome =
  | { isSealed: true; buckets: BucketDescription[] }
  /** `blockedBy`: the publications that hold one of the buckets. */
  | { isSealed: false; blockedBy: string[] };

/**
 * Closes the buckets of one publication, all or none, in one transaction with a constant number of statements.
 * Buckets are made where there are none, so that an upload which starts late finds its bucket sealed; those that are
 * published already stay as they are.
 */
export function sealPublication<T>(
  { seals, now, newId }: SealPublicationDeps<T>,
  seal: SealOf,
): Promise<SealOutcome> {
  const { publicationId, entityIds } = seal;
  const at = now();
  return seals.transaction(async (tx): Promise<SealOutcome> => {
    const verdict = onSeal(await seals.lockFence(tx, publicationId, at));
    if (verdict === 'no') return { isSealed: false, blockedBy: [] };
    if (verdict === 'yes') return { isSealed: true, buckets: await seals.describeEntities(tx, entityIds) };

    const buckets = await seals.lockBuckets(tx, entityIds, newId, at);
    const blockers = buckets.filter(({ state }) => state === 'sealed' || state === 'removed');
    if (blockers.length > 0) {
      const publications = blockers.flatMap(({ publicationId: by }) => (by === null ? [] : [by]));
      return { isSealed: false, blockedBy: [...new Set(publications)] };
    }
    return { isSealed: true, buckets: await seals.seal(tx, seal, at) };
  });
}
