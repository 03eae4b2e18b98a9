import type { Quota } from '@kr/contracts';
import { requireOperator } from '../access.ts';
import { MAX_LIMIT_BYTES } from '../config.ts';
import type { FilesContext } from '../context.ts';
import { invalidField } from '../file-errors.ts';
import type { Rpc } from '../rpc.ts';

const USER_ID = /^[0-9A-Za-z_.:-]{1,100}$/;

/** @throws ServiceError `invalid` */
function checkUserId(userId: string): void {
  if (!USER_ID.test(userId)) throw invalidField('user_id', 'That is not the id of a user.');
}

/** The counter has the bytes stored until they are removed, and those reserved for uploads under way. */
const QUOTA = `
  select $1::text as "userId", (bytes - reserved)::text as "usedBytes", reserved::text as "reservedBytes",
    coalesce(own, $2::bigint)::text as "limitBytes", own is null as "isDefault"
  from (
    select coalesce((select bytes from owner_usage where owner_id = $1), 0) as bytes,
      (select coalesce(sum(bytes), 0) from reservation where owner_id = $1)
      + (select coalesce(sum(upload_usage(upload)), 0) from upload where owner_id = $1) as reserved,
      (select max_bytes from quota where owner_id = $1) as own
  ) as usage`;

async function findUserQuota({ database, maxBytesPerUser }: FilesContext, userId: string): Promise<Quota> {
  const [quota] = await database.$queryRawUnsafe<[Quota]>(QUOTA, userId, maxBytesPerUser);
  return quota;
}

/**
 * RPC ReadQuota. A user without files, or an unknown one, uses nothing: this service knows no users.
 *
 * @throws ServiceError
 *   - `forbidden`: the caller is neither a service nor an operator
 *   - `invalid`: no user can have that id
 */
export function readQuota(deps: FilesContext): Rpc<'ReadQuota'> {
  return async ({ userId }, { principal }) => {
    requireOperator(principal);
    checkUserId(userId);
    return { quota: await findUserQuota(deps, userId) };
  };
}

const SET_LIMIT = `
  insert into quota (owner_id, max_bytes, updated_at) values ($1, $2, $3)
  on conflict (owner_id) do update set max_bytes = excluded.max_bytes, updated_at = excluded.updated_at`;

/**
 * RPC SetQuota. A limit below the usage deletes nothing, but refuses further bytes.
 * @throws ServiceError - `forbidden`: the caller is neither a service nor an operator - `invalid`: the id or the limit is invalid
 */
export function setQuota(deps: FilesContext): Rpc<'SetQuota'> {
  const { database, now } = deps;
  return async ({ userId, isDefault, limitBytes }, { principal }) => {
    requireOperator(principal);
    checkUserId(userId);
    const bytes = Number(limitBytes);
    if (bytes < 0 || bytes > MAX_LIMIT_BYTES)
      throw invalidField('limit_bytes', `It is from 0 to ${MAX_LIMIT_BYTES} bytes.`);
    if (isDefault) await database.$executeRawUnsafe('delete from quota where owner_id = $1', userId);
    else await database.$executeRawUnsafe(SET_LIMIT, userId, bytes, now());
    return { quota: await findUserQuota(deps, userId) };
  };
}
