import { type AuditTrail, timestamp } from '@kr/contracts';
import type { Sql } from '@kr/database';
import { toActorMessage } from './actor-message.ts';

interface EntryRow {
  id: string;
  created_at: Date;
  action: string;
  entity_id: string;
  user_id: string | null;
  link_ids: string[];
  service: string | null;
  token_id: string | null;
  request_id: string;
  trace_id: string | null;
  metadata: unknown;
}

const READ = `
  select counted.total, entry.*
  from (select count(*)::int as total from audit_entry where parent_id = $1) counted
  left join lateral (
    select position, id, created_at, action, entity_id, user_id, link_ids, service, token_id, request_id, trace_id,
           metadata
    from audit_entry where parent_id = $1 order by created_at desc, position desc limit $2::int
  ) entry on true
  order by entry.created_at desc, entry.position desc`;

/** The trail of an entity in all its versions: the newest `limit` entries and the total number. */
export async function readTrail(sql: Sql, parentId: string, limit: number): Promise<AuditTrail> {
  const rows = await sql.$queryRawUnsafe<((EntryRow | { id: null }) & { total: number })[]>(
    READ,
    parentId,
    limit,
  );
  return {
    total: rows[0]?.total ?? 0,
    entries: rows.filter((row) => row.id !== null).map(entryMessage),
  };
}

function entryMessage(row: EntryRow): NonNullable<AuditTrail['entries']>[number] {
  return {
    id: row.id,
    createdAt: timestamp(row.created_at),
    action: row.action,
    entityId: row.entity_id,
    actor: toActorMessage({
      userId: row.user_id,
      linkIds: row.link_ids,
      service: row.service,
      tokenId: row.token_id,
      requestId: row.request_id,
      traceId: row.trace_id,
    }),
    metadataJson: Buffer.from(JSON.stringify(row.metadata)),
  };
}

/** A deleted entity; only its audit trail remains. */
export interface DeletedEntity {
  parentId: string;
  ownerId: string;
}

/** Undefined when no entity of this id was ever deleted. */
export async function findDeletedEntity(sql: Sql, entityId: string): Promise<DeletedEntity | undefined> {
  const [row] = await sql.$queryRawUnsafe<DeletedEntity[]>(
    `select parent_id as "parentId", owner_id as "ownerId" from audit_entry
     where entity_id = $1 and owner_id is not null order by position desc limit 1`,
    entityId,
  );
  return row;
}
