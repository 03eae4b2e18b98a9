import { type AskedPublications, publicationDecisions } from '@kr/publication-decisions';
import { ServiceError } from '@kr/service-error';
import type { Logger } from '@kr/telemetry';
import type { BucketDescription } from '../store/bucket-store.ts';
import type { Tx } from '../store/prisma.ts';
import { onDecide, onSeal } from './fence-rules.ts';
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

export interface DecidePublicationDeps<T = Tx> {
  seals: SealStore<T>;
  now: () => Date;
  newId: () => string;
  logger: Logger;
}

export interface PublicationDecision {
  publicationId: string;
  isCommitted: boolean;
  /** The entities that were published; null where only the decision is known: then all that is sealed for it. */
  publishedIds: readonly string[] | null;
}

/**
 * Carries a decision out: sealed buckets become immutable or are opened again. Constant statements, one transaction,
 * safe to repeat and to hear before the seal.
 *
 * @throws ServiceError `internal`: the opposite was decided before, which is an alarm
 */
export async function decidePublication<T>(
  { seals, now, newId, logger }: DecidePublicationDeps<T>,
  { publicationId, isCommitted, publishedIds }: PublicationDecision,
): Promise<void> {
  const at = now();
  await seals.transaction(async (tx) => {
    const fence = await seals.lockFence(tx, publicationId, at);
    const verdict = onDecide(fence, isCommitted);
    if (verdict === 'done') return;
    if (verdict === 'contradiction') {
      logger.error({ publicationId, isCommitted, fence }, 'a publication was decided both ways');
      throw new ServiceError('internal', 'The publication was decided otherwise before.');
    }
    if (verdict === 'apply') return seals.applySeal(tx, publicationId, publishedIds, at);
    if (verdict === 'undo') return seals.undoSeal(tx, publicationId, at);
    if (verdict === 'adopt') {
      logger.error({ publicationId, publishedIds }, 'a publication was committed without a known seal');
      await seals.makeImmutable(tx, publishedIds ?? [], newId, at);
    }
    const state = isCommitted ? 'applied' : 'aborted';
    await seals.saveFence(tx, publicationId, { state, epoch: fence?.epoch ?? 0 }, at);
  });
}

/** Asks the coordinator once about publications and carries out what is decided; the undecided stay as they are. */
export type SettlePublications = (publicationIds: readonly string[]) => Promise<void>;

export interface SettlePublicationsDeps<T = Tx> extends DecidePublicationDeps<T> {
  publications: AskedPublications;
}

/**
 * @throws ServiceError
 *   - `unavailable`: the coordinator cannot be asked
 *   - whatever kept one of the decisions from being carried out, when the others have been
 */
export function settlePublications<T>(deps: SettlePublicationsDeps<T>): SettlePublications {
  const decisionsOf = publicationDecisions(deps.publications, 'files');
  return async (publicationIds) => {
    const failures: unknown[] = [];
    for (const [publicationId, decision] of await decisionsOf(publicationIds)) {
      if (decision === 'undecided') continue;
      const isCommitted = decision === 'committed';
      // One that cannot be carried out must not keep the others waiting.
      await decidePublication(deps, { publicationId, isCommitted, publishedIds: null }).catch((error) =>
        failures.push(error),
      );
    }
    if (failures.length > 0) throw failures[0];
  };
}

/** Milliseconds a seal may last before its coordinator is asked: publishing takes far less. */
const OLD_AFTER_MS = 3_000;
const BATCH = 100;

/** Asks about seals that have lasted; a decision whose message was lost is carried out so. */
export async function settleOldSeals<T>({
  seals,
  settle,
  now,
}: {
  seals: SealStore<T>;
  settle: SettlePublications;
  now: () => Date;
}): Promise<void> {
  const before = new Date(now().getTime() - OLD_AFTER_MS);
  const old = await seals.sealedBefore(seals.outside, before, BATCH);
  if (old.length > 0) await settle(old);
}
