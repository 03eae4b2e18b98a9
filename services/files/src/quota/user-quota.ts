import type { Quota } from '@kr/contracts';
import type { Database } from '../store/prisma.ts';

export interface UserQuotaDeps {
  database: Database;
  now: () => Date;
  maxBytesPerUser: number;
}

interface QuotaRow {
  bytes: bigint | null;
  promised: bigint;
  own: bigint | null;
}

/** Bytes stored for a user until they are removed, and bytes reserved for uploads under way. */
export async function findUserQuota(
  { database, maxBytesPerUser }: Omit<UserQuotaDeps, 'now'>,
  userId: string,
): Promise<Quota> {
  const [row] = await database.$queryRaw<QuotaRow[]>`
    select
      (select bytes from owner_usage where owner_id = ${userId}) as bytes,
      (select coalesce(sum(bytes), 0)::bigint from reservation where owner_id = ${userId})
      + (select coalesce(sum(upload_usage(upload)), 0)::bigint from upload where owner_id = ${userId}) as promised,
      (select max_bytes from quota where owner_id = ${userId}) as own`;
  const promised = row?.promised ?? 0n;
  const own = row?.own ?? null;
  return {
    userId,
    usedBytes: String((row?.bytes ?? 0n) - promised),
    promisedBytes: String(promised),
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
