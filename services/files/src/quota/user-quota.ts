import type { Quota } from '@kr/contracts';
import type { Database } from '../store/prisma.ts';

export interface UserQuotaDeps {
  database: Database;
  now: () => Date;
  maxBytesPerUser: number;
}

interface QuotaRow {
  used: bigint;
  promised: bigint;
  own: bigint | null;
}

/** What all entities of a user refer to, each object once, and what is promised to their uploads. */
export async function findUserQuota(
  { database, now, maxBytesPerUser }: UserQuotaDeps,
  userId: string,
): Promise<Quota> {
  const at = now();
  const [row] = await database.$queryRaw<QuotaRow[]>`
    with mine as (select entity_id from bucket where owner_id = ${userId})
    select
      (select coalesce(sum(size), 0)::bigint from object where id in (
        select e.object_id from mine join entry e on e.entity_id = mine.entity_id)) as used,
      (select coalesce(sum(r.bytes), 0)::bigint from mine join reservation r on r.entity_id = mine.entity_id
        where r.expires_at > ${at})
      + (select coalesce(sum(coalesce(u.length, u.received)), 0)::bigint
        from mine join upload u on u.entity_id = mine.entity_id
        where u.finished_at is null and u.expires_at > ${at}) as promised,
      (select max_bytes from quota where owner_id = ${userId}) as own`;
  const own = row?.own ?? null;
  return {
    userId,
    usedBytes: String(row?.used ?? 0),
    promisedBytes: String(row?.promised ?? 0),
    limitBytes: String(own ?? maxBytesPerUser),
    isDefault: own === null,
  };
}

/** @param limitBytes null: the usual one again */
export async function saveUserLimit(
  { database, now }: UserQuotaDeps,
  userId: string,
  limitBytes: number | null,
): Promise<void> {
  if (limitBytes === null) {
    await database.$executeRaw`delete from quota where owner_id = ${userId}`;
    return;
  }
  await database.$executeRaw`
    insert into quota (owner_id, max_bytes, updated_at) values (${userId}, ${limitBytes}::bigint, ${now()})
    on conflict (owner_id) do update set max_bytes = excluded.max_bytes, updated_at = excluded.updated_at`;
}
