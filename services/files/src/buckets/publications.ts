import type { SqlDatabase } from '@kr/database';
import { failpoint } from '@kr/failpoint';
import { decisionQuery, type PublicationsClient } from '@kr/publication-decisions';
import { ServiceError } from '@kr/service-error';
import type { Logger } from '@kr/telemetry';
import { requireService } from '../access.ts';
import type { Rpc } from '../rpc.ts';
import { onDecision, onSeal } from './participation-rules.ts';
import type { BucketDescription, Seal, SealStore } from './seal-store.ts';

export interface SealPublicationDeps {
  database: SqlDatabase;
  seals: SealStore;
  now: () => Date;
  newId: () => string;
}

export type SealOutcome =
  | { isSealed: true; buckets: BucketDescription[] }
  /** `blockedBy`: the publications that hold one of the buckets. */
  | { isSealed: false; blockedBy: string[] };

/**
 * Seals the buckets of one publication, all or none, in one transaction with a constant number of statements.
 * Missing buckets are created, so that an upload that starts late finds its bucket sealed; published ones
 * stay unchanged.
 */
function sealPublication(
  { database, seals, now, newId }: SealPublicationDeps,
  seal: Seal,
): Promise<SealOutcome> {
  const { publicationId, entityIds } = seal;
  const at = now();
  return database.$transaction(async (tx): Promise<SealOutcome> => {
    const verdict = onSeal(await seals.lockParticipation(tx, publicationId, at));
    if (verdict === 'no') return { isSealed: false, blockedBy: [] };
    if (verdict === 'yes') return { isSealed: true, buckets: await seals.describeEntities(tx, entityIds) };

    const buckets = await seals.lockBuckets(tx, entityIds, newId, at);
    const blockers = buckets.filter(({ state }) => state === 'sealed' || state === 'removed');
    if (blockers.length > 0) {
      const publications = blockers.flatMap(({ publicationId: by }) => (by === null ? [] : [by]));
      return { isSealed: false, blockedBy: [...new Set(publications)] };
    }
    const sealed = await seals.seal(tx, seal, at);
    await failpoint('files.seal.inside');
    return { isSealed: true, buckets: sealed };
  });
}

export interface ApplyDecisionDeps extends SealPublicationDeps {
  logger: Logger;
}

export interface PublicationDecision {
  publicationId: string;
  isCommitted: boolean;
  /** The published entities; null if only the decision is known: then all sealed ones. */
  publishedIds: readonly string[] | null;
}

/**
 * Applies a decision: sealed buckets become immutable or are opened again. Constant statements, one transaction,
 * may be repeated and may precede the seal.
 * @throws ServiceError `internal`: the opposite was decided before, which needs an operator
 */
async function applyDecision(
  { database, seals, now, newId, logger }: ApplyDecisionDeps,
  { publicationId, isCommitted, publishedIds }: PublicationDecision,
): Promise<void> {
  const at = now();
  await database.$transaction(async (tx) => {
    const participation = await seals.lockParticipation(tx, publicationId, at);
    const verdict = onDecision(participation, isCommitted);
    if (verdict === 'done') return;
    if (verdict === 'contradiction') {
      logger.error({ publicationId, isCommitted, participation }, 'a publication was decided both ways');
      throw new ServiceError('internal', 'The publication was decided otherwise before.');
    }
    if (verdict === 'adopt') {
      logger.error({ publicationId, publishedIds }, 'a publication was committed without a known seal');
      await seals.makeImmutable(tx, publishedIds ?? [], newId, at);
    }
    if (verdict === 'apply') await seals.applySeal(tx, publicationId, publishedIds, at);
    else if (verdict === 'undo') await seals.undoSeal(tx, publicationId, at);
    else
      await seals.saveParticipation(
        tx,
        publicationId,
        { state: isCommitted ? 'applied' : 'aborted', epoch: 0 },
        at,
      );
    await failpoint('files.apply.inside');
  });
}

/**
 * Queries the coordinator once about publications and applies the decisions. Undecided publications stay
 * unchanged.
 */
export type FinishPublications = (publicationIds: readonly string[]) => Promise<void>;

export interface FinishPublicationsDeps extends ApplyDecisionDeps {
  publications: PublicationsClient;
}

/**
 * @throws ServiceError - `unavailable`: the coordinator cannot be reached - the error of a decision that could not be applied, after the
 * others have been
 */
export function finishPublications(deps: FinishPublicationsDeps): FinishPublications {
  const decisionsOf = decisionQuery(deps.publications, 'files');
  return async (publicationIds) => {
    const failures: unknown[] = [];
    for (const [publicationId, decision] of await decisionsOf(publicationIds)) {
      if (decision === 'undecided') continue;
      const isCommitted = decision === 'committed';
      // One that cannot be carried out must not keep the others waiting.
      await applyDecision(deps, { publicationId, isCommitted, publishedIds: null }).catch((error) =>
        failures.push(error),
      );
    }
    if (failures.length > 0) throw failures[0];
  };
}

/** Milliseconds after which the coordinator is queried about a seal: a publication takes far less. */
const OLD_AFTER_MS = 3_000;
const BATCH = 100;

/** Queries old seals, so that a decision whose message was lost is applied. */
export async function finishOldPublications({
  database,
  seals,
  finishPublications,
  now,
}: Omit<SealPublicationDeps, 'newId'> & { finishPublications: FinishPublications }): Promise<void> {
  const before = new Date(now().getTime() - OLD_AFTER_MS);
  const old = await seals.sealedBefore(database, before, BATCH);
  if (old.length > 0) await finishPublications(old);
}

/**
 * RPC SealBuckets. Another seal is finished with the coordinator once before it is a reason to refuse.
 * @throws ServiceError - `forbidden`: the caller is not the coordinator of publications - `unavailable`: there is another seal and the
 * coordinator cannot be reached
 */
export function sealBuckets(
  deps: SealPublicationDeps & { finishPublications: FinishPublications },
): Rpc<'SealBuckets'> {
  return async ({ publicationId, epoch, entityIds }, { principal }) => {
    requireService(principal, 'packages');
    const seal = { publicationId, epoch, entityIds };
    let outcome = await sealPublication(deps, seal);
    if (!outcome.isSealed && outcome.blockedBy.length > 0) {
      await deps.finishPublications(outcome.blockedBy);
      outcome = await sealPublication(deps, seal);
    }
    if (outcome.isSealed) return { isSealed: true, buckets: outcome.buckets };
    return { isSealed: false, blockedBy: outcome.blockedBy[0] ?? '' };
  };
}

/**
 * RPC ApplyDecisionToBuckets.
 *
 * @throws ServiceError
 *   - `forbidden`: not called by the coordinator of publications
 *   - `internal`: the opposite was decided before
 */
export function applyDecisionToBuckets(deps: ApplyDecisionDeps): Rpc<'ApplyDecisionToBuckets'> {
  return async ({ publicationId, isCommitted, publishedIds }, { principal }) => {
    requireService(principal, 'packages');
    await applyDecision(deps, { publicationId, isCommitted, publishedIds });
    return {};
  };
}

/** RPC DescribeBuckets. @throws ServiceError `forbidden`: not called by one of our services */
export function describeBuckets({
  database,
  seals,
}: Pick<SealPublicationDeps, 'database' | 'seals'>): Rpc<'DescribeBuckets'> {
  return async ({ entityIds }, { principal }) => {
    requireService(principal);
    return { buckets: await seals.describeEntities(database, entityIds) };
  };
}
