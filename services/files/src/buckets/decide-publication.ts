import { ServiceError } from '@kr/service-error';
import type { Logger } from '@kr/telemetry';
import { lockFence, saveFence } from '../store/fence-store.ts';
import type { Database, Tx } from '../store/prisma.ts';
import { onDecide } from './fence-rules.ts';

export interface DecidePublicationDeps {
  database: Database;
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
export async function decidePublication(
  { database, now, newId, logger }: DecidePublicationDeps,
  { publicationId, isCommitted, publishedIds }: PublicationDecision,
): Promise<void> {
  const at = now();
  await database.$transaction(async (tx) => {
    const fence = await lockFence(tx, publicationId, at);
    const verdict = onDecide(fence, isCommitted);
    if (verdict === 'done') return;
    if (verdict === 'contradiction') {
      logger.error({ publicationId, isCommitted, fence }, 'a publication was decided both ways');
      throw new ServiceError('internal', 'The publication was decided otherwise before.');
    }
    if (verdict === 'adopt') {
      logger.error({ publicationId, publishedIds }, 'a publication was committed without a known seal');
      await makeImmutable(tx, publishedIds ?? [], newId, at);
    }
    if (verdict === 'apply') await applySeal(tx, publicationId, publishedIds, at);
    if (verdict === 'undo') await undoSeal(tx, publicationId, at);
    const state = isCommitted ? 'applied' : 'aborted';
    await saveFence(tx, publicationId, { state, epoch: fence?.epoch ?? 0 }, at);
  });
}

async function applySeal(
  tx: Tx,
  publicationId: string,
  publishedIds: readonly string[] | null,
  at: Date,
): Promise<void> {
  await tx.$executeRaw`
    update bucket set publication_id = null, sealed_at = null, updated_at = ${at},
      state = case when ${publishedIds === null}::boolean or entity_id = any(${[...(publishedIds ?? [])]}::text[])
        then 'immutable' else 'open' end
    where publication_id = ${publicationId} and state = 'sealed'`;
}

async function undoSeal(tx: Tx, publicationId: string, at: Date): Promise<void> {
  await tx.$executeRaw`
    update bucket set state = 'open', publication_id = null, sealed_at = null, updated_at = ${at}
    where publication_id = ${publicationId} and state = 'sealed'`;
}

async function makeImmutable(
  tx: Tx,
  entityIds: readonly string[],
  newId: () => string,
  at: Date,
): Promise<void> {
  const ids = [...new Set(entityIds)].sort();
  await tx.$executeRaw`
    insert into bucket (entity_id, id, state, updated_at)
    select entity_id, id::uuid, 'immutable', ${at}
    from unnest(${ids}::text[], ${ids.map(() => newId())}::text[]) as missing(entity_id, id)
    on conflict (entity_id) do update set state = 'immutable', publication_id = null, sealed_at = null,
      updated_at = excluded.updated_at`;
}
