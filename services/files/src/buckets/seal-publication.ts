import { lockFence, saveFence } from '../store/fence-store.ts';
import type { Database, Tx } from '../store/prisma.ts';
import { type BucketDescription, describeEntities } from './describe-entities.ts';
import { onSeal } from './fence-rules.ts';

export interface SealPublicationDeps {
  database: Database;
  now: () => Date;
  newId: () => string;
}

export interface Seal {
  publicationId: string;
  epoch: number;
  entityIds: readonly string[];
}

export type SealOutcome =
  | { isSealed: true; buckets: BucketDescription[] }
  /** `blockedBy`: the publications that hold one of the buckets. */
  | { isSealed: false; blockedBy: string[] };

interface BucketRow {
  entity_id: string;
  state: string;
  publication_id: string | null;
}

/**
 * Closes the buckets of one publication, all or none, in one transaction with a constant number of statements.
 * Buckets are made where there are none, so that an upload which starts late finds its bucket sealed; those that are
 * published already stay as they are.
 */
export function sealPublication(
  { database, now, newId }: SealPublicationDeps,
  { publicationId, epoch, entityIds }: Seal,
): Promise<SealOutcome> {
  const at = now();
  // In one order everywhere: two publications that share buckets wait for each other instead of dying.
  const ids = [...new Set(entityIds)].sort();
  return database.$transaction(async (tx): Promise<SealOutcome> => {
    const fence = await lockFence(tx, publicationId, at);
    const verdict = onSeal(fence);
    if (verdict === 'no') return { isSealed: false, blockedBy: [] };
    if (verdict === 'yes') return { isSealed: true, buckets: await describeEntities(tx, entityIds) };

    const buckets = await lockBuckets(tx, ids, newId, at);
    const blockers = buckets.filter(({ state }) => state === 'sealed' || state === 'removed');
    if (blockers.length > 0)
      return { isSealed: false, blockedBy: [...new Set(blockers.flatMap(publicationOf))] };
    await tx.$executeRaw`
      update bucket set state = 'sealed', publication_id = ${publicationId}, sealed_at = ${at}, updated_at = ${at}
      where entity_id = any(${ids}::text[]) and state = 'open'`;
    await saveFence(tx, publicationId, { state: 'prepared', epoch }, at);
    return { isSealed: true, buckets: await describeEntities(tx, entityIds) };
  });
}

function publicationOf({ publication_id }: BucketRow): string[] {
  return publication_id === null ? [] : [publication_id];
}

async function lockBuckets(tx: Tx, ids: string[], newId: () => string, at: Date): Promise<BucketRow[]> {
  await tx.$executeRaw`
    insert into bucket (entity_id, id, state, updated_at)
    select entity_id, id::uuid, 'open', ${at}
    from unnest(${ids}::text[], ${ids.map(() => newId())}::text[]) as missing(entity_id, id)
    order by entity_id
    on conflict (entity_id) do nothing`;
  return tx.$queryRaw<BucketRow[]>`
    select entity_id, state, publication_id from bucket where entity_id = any(${ids}::text[])
    order by entity_id for update`;
}
