import type { AccessLink } from '../gen/prisma/client.ts';
import { type Link, PERMISSIONS } from '../link.ts';
import type { Database, Tx } from './prisma.ts';

/** Milliseconds that creation keys are stored: as long as idempotency keys of the gateway. */
const CREATION_KEY_LIFETIME_MS = 24 * 60 * 60 * 1000;

export interface Creation {
  createdBy: string | null;
  /** Undefined: the creation cannot be repeated. */
  key: Uint8Array<ArrayBuffer> | undefined;
}

/**
 * Inserts a link, unless this creation already made one that is not revoked. Concurrent creations for the
 * same parent wait until the transaction ends.
 *
 * @returns the link of the first creation with this key: `link`, unless it is a repeated one
 */
export async function insertLink(tx: Tx, link: Link, { createdBy, key }: Creation): Promise<Link> {
  if (key !== undefined) await clearOldKey(tx, key, link.createdAt);
  const { linkId, parentId, permission, createdAt, expiresAt, nonce, keyId, revision } = link;
  // Part of this statement, because a separate one would cost a round trip.
  const count = await tx.$executeRaw`
    insert into access_link
      (id, parent_id, permission, expires_at, nonce, key_id, created_by, created_at, revision, creation_key)
    select ${linkId}::uuid, ${parentId}, ${permission}, ${expiresAt}::timestamptz, ${nonce}, ${keyId}, ${createdBy},
      ${createdAt}::timestamptz, ${revision}::bigint, ${key ?? null}::bytea
    from (select pg_advisory_xact_lock(hashtextextended(${parentId}, 0))) as locked
    on conflict (creation_key) do nothing`;
  if (count === 1 || key === undefined) return link;
  return toLink(await tx.accessLink.findUniqueOrThrow({ where: { creationKey: key } }));
}

async function clearOldKey(tx: Tx, key: Uint8Array<ArrayBuffer>, now: Date): Promise<void> {
  const before = new Date(now.getTime() - CREATION_KEY_LIFETIME_MS);
  const isOver = { OR: [{ createdAt: { lte: before } }, { revokedAt: { not: null } }] };
  await tx.accessLink.updateMany({ where: { creationKey: key, ...isOver }, data: { creationKey: null } });
}

/** Links of a parent that are neither revoked nor expired; exact until the end of the transaction that inserted one. */
export function countActiveLinks(tx: Tx, parentId: string, now: Date): Promise<number> {
  const isUnexpired = { OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] };
  return tx.accessLink.count({ where: { parentId, revokedAt: null, ...isUnexpired } });
}

/** The links of these parents that are not revoked, oldest first. */
export async function listLinksOf(database: Database, parentIds: readonly string[]): Promise<Link[]> {
  const rows = await database.accessLink.findMany({
    where: { parentId: { in: [...parentIds] }, revokedAt: null },
    orderBy: { position: 'asc' },
  });
  return rows.map(toLink);
}

/** The links with these ids, revoked ones included, in no order. */
export async function findLinks(
  database: Database,
  linkIds: readonly string[],
): Promise<(Link & { isRevoked: boolean })[]> {
  if (linkIds.length === 0) return [];
  const rows = await database.accessLink.findMany({ where: { id: { in: [...linkIds] } } });
  return rows.map((row) => ({ ...toLink(row), isRevoked: row.revokedAt !== null }));
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** A link by the parent it opens and its own id, never by its id alone. */
export async function findLink(
  database: Database | Tx,
  parentId: string,
  linkId: string,
): Promise<Link | undefined> {
  if (!UUID.test(linkId)) return undefined;
  const row = await database.accessLink.findUnique({ where: { id: linkId } });
  return row !== null && row.parentId === parentId && row.revokedAt === null ? toLink(row) : undefined;
}

/** As `findLink`, and locks the link until the transaction ends. */
export async function lockLink(tx: Tx, parentId: string, linkId: string): Promise<Link | undefined> {
  if (!UUID.test(linkId)) return undefined;
  await tx.$queryRaw`select id from access_link where id = ${linkId}::uuid for update`;
  return findLink(tx, parentId, linkId);
}

export async function saveLink(tx: Tx, link: Link): Promise<void> {
  const { linkId, permission, expiresAt, revision } = link;
  await tx.accessLink.update({ where: { id: linkId }, data: { permission, expiresAt, revision } });
}

export async function endLink(tx: Tx, link: Link, revokedAt: Date): Promise<void> {
  await tx.accessLink.update({ where: { id: link.linkId }, data: { revokedAt, revision: link.revision } });
}

function toLink(row: AccessLink): Link {
  const permission = PERMISSIONS.find((one) => one === row.permission);
  if (permission === undefined) throw new Error(`link ${row.id} has the permission ${row.permission}`);
  const { id: linkId, parentId, createdAt, expiresAt, nonce, keyId, revision } = row;
  return { linkId, parentId, permission, createdAt, expiresAt, nonce, keyId, revision };
}
