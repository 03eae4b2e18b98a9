import type { Sql } from '@kr/database';
import { ServiceError } from '@kr/service-error';

/** Limits on all entities of one kind of one owner. */
export interface OwnerLimits {
  /** Drafts, of new entities, new versions and edits. */
  maxDrafts: number;
  /** Stored documents, published and drafts, in bytes of JSON. */
  maxMetadataBytes: number;
}

export interface DraftQuota {
  /**
   * Counts one more draft of an owner.
   *
   * @throws ServiceError `invalid` (`too_many_drafts`, `metadata_quota_exceeded`): the owner has as much as allowed
   */
  reserveDraft(sql: Sql, ownerId: string): Promise<void>;
}

interface Usage {
  drafts: number;
  bytes: number;
  countedAt: number;
}

/** Counting reads all entities of an owner, so between two counts drafts are only added up. */
const RECOUNT_MS = 60_000;
const MAX_OWNERS = 10_000;

export function draftQuota(limits: OwnerLimits, now: () => Date): DraftQuota {
  const usages = new Map<string, Usage>();
  const isFull = ({ drafts, bytes }: Usage) => drafts >= limits.maxDrafts || bytes >= limits.maxMetadataBytes;

  const recount = async (sql: Sql, ownerId: string): Promise<Usage> => {
    const usage = { ...(await countUsage(sql, ownerId)), countedAt: now().getTime() };
    usages.delete(ownerId);
    usages.set(ownerId, usage);
    const [oldest] = usages.keys();
    if (usages.size > MAX_OWNERS && oldest !== undefined) usages.delete(oldest);
    return usage;
  };

  return {
    async reserveDraft(sql, ownerId) {
      const cached = usages.get(ownerId);
      const isCurrent = cached !== undefined && now().getTime() - cached.countedAt < RECOUNT_MS;
      const usage = isCurrent && !isFull(cached) ? cached : await recount(sql, ownerId);
      if (usage.drafts >= limits.maxDrafts) throw tooManyDrafts(limits.maxDrafts);
      if (usage.bytes >= limits.maxMetadataBytes) throw metadataQuotaExceeded(limits.maxMetadataBytes);
      usage.drafts += 1;
    },
  };
}

async function countUsage(sql: Sql, ownerId: string): Promise<{ drafts: number; bytes: number }> {
  const [row] = await sql.$queryRawUnsafe<{ drafts: bigint; bytes: bigint }[]>(
    `select count(draft.id) as drafts,
       coalesce(sum(coalesce(version.document_bytes, 0) + coalesce(draft.document_bytes, 0)), 0)::bigint as bytes
     from parent join version on version.parent_id = parent.id left join draft on draft.id = version.id
     where parent.owner_id = $1`,
    ownerId,
  );
  return { drafts: Number(row?.drafts ?? 0), bytes: Number(row?.bytes ?? 0) };
}

function tooManyDrafts(limit: number): ServiceError {
  return new ServiceError(
    'invalid',
    `A user may have at most ${limit} drafts. Publish or delete some first.`,
    {
      code: 'too_many_drafts',
    },
  );
}

function metadataQuotaExceeded(limit: number): ServiceError {
  return new ServiceError(
    'invalid',
    `The metadata of a user's entities may have at most ${limit} bytes together. Delete drafts first.`,
    { code: 'metadata_quota_exceeded' },
  );
}
