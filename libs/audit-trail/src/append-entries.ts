import { executeWithNext, type Sql } from '@kr/database';
import { appendEvents, eventRows, insertEvents, type OutboxEvent } from '@kr/event-bus';
import type { AuditEntry } from './audit-entry.ts';

const COLUMNS =
  'action, entity_id, parent_id, user_id, link_ids, service, token_id, request_id, trace_id, metadata, owner_id';

/**
 * Writes the entries of `entryRows` as a part of another statement, so that a change and its trail need no transaction
 * around them. `changed` is a relation of that statement with one row when the change was made, and none when not.
 */
export function insertEntries(parameter: string, changed: string): string {
  return `
  insert into audit_entry (${COLUMNS})
  select ${COLUMNS.replaceAll(/\w+/g, 'entry.$&')}
  from ${changed}, jsonb_to_recordset(${parameter}::jsonb)
    as entry(n int, action text, entity_id text, parent_id text, user_id text, link_ids text[], service text,
             token_id text, request_id text, trace_id text, metadata jsonb, owner_id text)
  order by entry.n`;
}

/** The parameter of `insertEntries`. */
export function entryRows(entries: readonly AuditEntry[]): string {
  const rows = entries.map(({ action, entityId, parentId, actor, metadata, ownerId }, n) => ({
    n,
    action,
    entity_id: entityId,
    parent_id: parentId,
    user_id: actor.userId,
    link_ids: actor.linkIds,
    service: actor.service,
    token_id: actor.tokenId,
    request_id: actor.requestId,
    trace_id: actor.traceId,
    metadata,
    owner_id: ownerId ?? null,
  }));
  return JSON.stringify(rows);
}

const ALWAYS = '(select) as always';
const ENTRIES = insertEntries('$1', ALWAYS);
const EVENTS_AND_ENTRIES = `with audited as (${insertEntries('$2', ALWAYS)}) ${insertEvents('$1', ALWAYS)}`;

/**
 * Writes the events and audit entries of a change in the given order, as one statement. Call it in the transaction of
 * the change; nudge the relay after the commit.
 */
export async function appendAudited(
  tx: Sql,
  events: readonly OutboxEvent[],
  entries: readonly AuditEntry[],
): Promise<void> {
  if (entries.length === 0) return appendEvents(tx, events);
  if (events.length === 0) return executeWithNext(tx, ENTRIES, entryRows(entries));
  return executeWithNext(tx, EVENTS_AND_ENTRIES, eventRows(events), entryRows(entries));
}
