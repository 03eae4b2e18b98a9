import { ServiceError } from '@kr/service-error';
import type { Logger } from '@kr/telemetry';
import type { Tx } from '../store/prisma.ts';
import { onDecide } from './fence-rules.ts';
import type { SealStore } from './seal-store.ts';

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
