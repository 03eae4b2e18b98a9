import { traceHeaders } from '@kr/telemetry';
import type { OutboxEvent } from './new-event.ts';

/** What a Prisma client, or a transaction of one, is to this library. */
export interface SqlExecutor {
  $executeRawUnsafe(sql: string, ...values: unknown[]): Promise<number>;
}

// One parameter and one statement for any number of events; base64 because JSON carries no bytes.
const INSERT = `
  insert into outbox (event_id, aggregate_id, revision, subject, payload, headers)
  select event_id, aggregate_id, revision, subject, decode(payload, 'base64'), headers
  from jsonb_to_recordset($1::jsonb)
    as event(n int, event_id uuid, aggregate_id text, revision bigint, subject text, payload text, headers jsonb)
  order by n`;

/**
 * Writes events into the outbox, in the order given and with the trace context of the active span. Call it in the
 * transaction of the change; nudge the relay after the commit.
 */
export async function appendEvents(tx: SqlExecutor, events: readonly OutboxEvent[]): Promise<void> {
  if (events.length === 0) return;
  const headers = traceHeaders();
  const rows = events.map((event, n) => ({
    n,
    event_id: event.eventId,
    aggregate_id: event.aggregateId,
    revision: event.revision,
    subject: event.subject,
    payload: Buffer.from(event.payload).toString('base64'),
    headers,
  }));
  await tx.$executeRawUnsafe(INSERT, JSON.stringify(rows));
}
