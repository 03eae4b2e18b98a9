import type { Quota } from '@kr/contracts';
import { requireOperator } from '../access.ts';
import { MOST_BYTES } from '../config.ts';
import { invalidField } from '../file-errors.ts';
import type { Rpc } from '../rpc.ts';
import type { Database } from '../store/prisma.ts';

const USER_ID = /^[0-9A-Za-z_.:-]{1,100}$/;

/** @throws ServiceError `invalid` */
function checkUserId(userId: string): void {
  if (!USER_ID.test(userId)) throw invalidField('user_id', 'That is not the id of a user.');
}

export interface UserQuotaDeps {
  database: Database;
  now: () => Date;
  maxBytesPerUser: number;
}

interface QuotaRow {
  bytes: bigint | null;
  reserved: bigint;
  own: bigint | null;
}

/** Bytes stored for a user until they are removed, and bytes reserved for uploads under way. */
async function findUserQuota(
  { database, maxBytesPerUser }: Omit<UserQuotaDeps, 'now'>,
  userId: string,
): Promise<Quota> {
  const [row] = await database.$queryRaw<QuotaRow[]>`
    select
      (select bytes from owner_usage where owner_id = ${userId}) as bytes,
      (select coalesce(sum(bytes), 0)::bigint from reservation where owner_id = ${userId})
      + (select coalesce(sum(upload_usage(upload)), 0)::bigint from upload where owner_id = ${userId}) as reserved,
      (select max_bytes from quota where owner_id = ${userId}) as own`;
  const reserved = row?.reserved ?? 0n;
  const own = row?.own ?? null;
  return {
    userId,
    usedBytes: String((row?.bytes ?? 0n) - reserved),
    promisedBytes: String(reserved),
    limitBytes: String(own ?? maxBytesPerUser),
    isDefault: own === null,
  };
}

/** @param limitBytes null: the default again */
async function saveUserLimit(
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

/**
 * RPC ReadQuota. A user without files uses nothing; who they are, this service does not know.
 *
 * @throws ServiceError
 *   - `forbidden`: the caller is neither a service nor an operator
 *   - `invalid`: no user can have that id
 */
export function readQuota(deps: UserQuotaDeps): Rpc<'ReadQuota'> {
  return async ({ userId }, { principal }) => {
    requireOperator(principal);
    checkUserId(userId);
    return { quota: await findUserQuota(deps, userId) };
  };
}

/**
 * RPC SetQuota. A limit below the usage deletes nothing, but refuses further bytes.
 * @throws ServiceError - `forbidden`: the caller is neither a service nor an operator - `invalid`: the id or the limit is invalid
 */
export function setQuota(deps: UserQuotaDeps): Rpc<'SetQuota'> {
  return async ({ userId, isDefault, limitBytes }, { principal }) => {
    requireOperator(principal);
    checkUserId(userId);
    const bytes = Number(limitBytes);
    if (bytes < 0 || bytes > MOST_BYTES)
      throw invalidField('limit_bytes', `It is from 0 to ${MOST_BYTES} bytes.`);
    await saveUserLimit(deps, userId, isDefault ? null : bytes);
    return { quota: await findUserQuota(deps, userId) };
  };
}
