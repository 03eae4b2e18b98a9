import { type EventPayload, type EventSubject, eventCodecs, type MessageCodec } from '@kr/contracts';
import type { JsMsg } from '@nats-io/jetstream';
import { headers, type MsgHdrs } from '@nats-io/nats-core';
import type { OutboxRow } from './outbox-reader.ts';

/** CloudEvents 1.0, NATS protocol binding, binary content mode; the trace context as plain W3C headers beside it. */
export function cloudEventHeaders(
  row: OutboxRow,
  source: string,
  traceHeaders: Readonly<Record<string, string>>,
): MsgHdrs {
  const values = {
    'ce-specversion': '1.0',
    'ce-id': row.event_id,
    'ce-source': source,
    'ce-type': row.subject,
    'ce-subject': row.aggregate_id,
    'ce-time': row.created_at.toISOString(),
    'ce-revision': row.revision,
    'content-type': 'application/protobuf',
    ...traceHeaders,
  };
  const set = headers();
  for (const [name, value] of Object.entries(values)) set.set(name, value);
  return set;
}

/** An event as a consumer receives it; `subject` determines the type of the payload. */
export type ReceivedEvent<Subject extends EventSubject = EventSubject> = {
  [S in Subject]: {
    readonly id: string;
    readonly subject: S;
    readonly payload: EventPayload<S>;
    readonly aggregateId: string;
    /** The entity's change number at the time; an older one never overwrites a newer one. */
    readonly revision: number;
    /** When the change was made. */
    readonly time: Date;
    /** W3C trace context of the request that caused it; empty if there was none. */
    readonly traceHeaders: Readonly<Record<string, string>>;
  };
}[Subject];

/** Ids that a database can store and find. */
const ID = /^[^\0]{1,200}$/;

/** The id of a message among the dead letters; without a valid `ce-id` it is its position. */
export function eventIdOf(message: JsMsg): string {
  const id = message.headers?.get('ce-id') ?? '';
  return ID.test(id) ? id : `seq-${message.info.streamSequence}`;
}

/** An event as received or as stored. */
export interface EncodedEvent {
  data: Uint8Array;
  /** Empty where there is none of that name. */
  header: (name: string) => string;
}

export function encodedIn(message: JsMsg): EncodedEvent {
  return { data: message.data, header: (name) => message.headers?.get(name) ?? '' };
}

/** @throws Error when the payload or a header is malformed; retries are useless */
export function decodeEvent<Subject extends EventSubject>(
  subject: Subject,
  { data, header }: EncodedEvent,
): ReceivedEvent<Subject> {
  const codec: Pick<MessageCodec<never, EventPayload<Subject>>, 'decode'> = eventCodecs[subject];
  const revision = Number(header('ce-revision'));
  const time = new Date(header('ce-time'));
  if (!ID.test(header('ce-id'))) throw new Error('no ce-id, or one that is none');
  if (!Number.isSafeInteger(revision)) throw new Error('ce-revision is no whole number');
  if (Number.isNaN(time.getTime())) throw new Error('ce-time is no instant');
  return {
    id: header('ce-id'),
    subject,
    payload: codec.decode(data),
    aggregateId: header('ce-subject'),
    revision,
    time,
    traceHeaders: traceHeadersOf(header),
  } as ReceivedEvent as ReceivedEvent<Subject>;
}

function traceHeadersOf(header: EncodedEvent['header']): Record<string, string> {
  const found = ['traceparent', 'tracestate'].map((name) => [name, header(name)] as const);
  return Object.fromEntries(found.filter(([, value]) => value !== ''));
}
