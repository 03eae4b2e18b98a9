import type { Sql } from '@kr/database';

/** How long a repeated creation is known, in milliseconds: as long as the gateway knows an idempotency key. */
export const CREATION_KNOWN_MS = 24 * 60 * 60 * 1000;

/**
 * Notes which entity a creation has made; one that is under way elsewhere is waited for. Notes whose time is over are
 * removed with it, more than are made.
 *
 * @returns the entity that this creation made first: another one than was given, when it is a repeated one
 */
export async function noteCreation(
  tx: Sql,
  { key, entityId }: { key: Uint8Array; entityId: string },
  at: Date,
): Promise<string> {
  const longAgo = new Date(at.getTime() - CREATION_KNOWN_MS).toISOString();
  const written = await tx.$executeRawUnsafe(
    `with swept as (
       delete from creation where key in (
         select key from creation where created_at <= $4::timestamptz and key <> $1 limit 2 for update skip locked)
     )
     insert into creation as known (key, entity_id, created_at) values ($1, $2, $3::timestamptz)
     on conflict (key) do update set entity_id = excluded.entity_id, created_at = excluded.created_at
       where known.created_at <= $4::timestamptz`,
    key,
    entityId,
    at.toISOString(),
    longAgo,
  );
  if (written === 1) return entityId;
  const [known] = await tx.$queryRawUnsafe<{ entity_id: string }[]>(
    'select entity_id from creation where key = $1',
    key,
  );
  return known?.entity_id ?? entityId;
}
