import { randomUUID } from 'node:crypto';
import { type EventInput, type EventSubject, eventCodecs, type MessageCodec } from '@kr/contracts';
import { executeWithNext, type Sql } from '@kr/database';
import { traceHeaders } from '@kr/telemetry';

/** An event that waits to be written into the outbox. */
export interface OutboxEvent {
  readonly eventId: string;
  readonly subject: EventSubject;
  readonly aggregateId: string;
  readonly revision: number;
  readonly payload: Uint8Array;
}

/** Bytes of a payload; the stream takes messages of 512 KiB, headers included. */
const MAX_PAYLOAD_BYTES = 480 * 1024;

/**
 * Makes an event from a fact. `aggregateId` is the changed entity and `revision` its change number, by which
 * consumers detect outdated events.
 *
 * @throws RangeError when the payload exceeds the limit of the bus: events are thin, consumers fetch the rest
 */
export function newEvent<Subject extends EventSubject>(
  subject: Subject,
  payload: EventInput<Subject>,
  of: { aggregateId: string; revision: number | bigint | string },
  newId: () => string = randomUUID,
): OutboxEvent {
  const codec: Pick<MessageCodec<EventInput<Subject>, unknown>, 'encode'> = eventCodecs[subject];
  const bytes = codec.encode(payload);
  if (bytes.length > MAX_PAYLOAD_BYTES)
    throw new RangeError(`an event of ${bytes.length} bytes on ${subject}`);
  return {
    eventId: newId(),
    subject,
    aggregateId: of.aggregateId,
    revision: Number(of.revision),
    payload: bytes,
  };
}

/**
 * Writes the events of `eventRows` as a part of another statement, so that a change and its news need no transaction
 * around them. `changed` is a relation of that statement with one row when the change was made, and none when not.
 */
export function insertEvents(parameter: string, changed: string): string {
  return `
  insert into outbox (event_id, aggregate_id, revision, subject, payload, headers)
  select event_id, aggregate_id, revision, subject, decode(payload, 'base64'), headers
  from ${changed}, jsonb_to_recordset(${parameter}::jsonb)
    as event(n int, event_id uuid, aggregate_id text, revision bigint, subject text, payload text, headers jsonb)
  order by n`;
}

// One parameter and one statement for any number of events.
const INSERT = insertEvents('$1', '(select) as always');

/**
 * Writes events into the outbox, in this order and with the trace context of the active span. Call it in the
 * transaction of the change; nudge the relay after the commit.
 */
export async function appendEvents(tx: Sql, events: readonly OutboxEvent[]): Promise<void> {
  if (events.length === 0) return;
  const rows = eventRows(events);
  await executeWithNext(tx, INSERT, rows);
}

/** The parameter of `insertEvents`; payloads in base64 because JSON carries no bytes. */
export function eventRows(events: readonly OutboxEvent[]): string {
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
  return JSON.stringify(rows);
}
