import { headers, type MsgHdrs } from '@nats-io/nats-core';

/** Metadata of an event. */
export interface Envelope {
  eventId: string;
  /** The service that emitted it. */
  source: string;
  subject: string;
  aggregateId: string;
  revision: string;
  time: Date;
  traceHeaders: Readonly<Record<string, string>>;
}

/** CloudEvents 1.0, NATS protocol binding, binary content mode; the trace context as plain W3C headers beside it. */
export function cloudEventHeaders(envelope: Envelope): MsgHdrs {
  const set = headers();
  set.set('ce-specversion', '1.0');
  set.set('ce-id', envelope.eventId);
  set.set('ce-source', envelope.source);
  set.set('ce-type', envelope.subject);
  set.set('ce-subject', envelope.aggregateId);
  set.set('ce-time', envelope.time.toISOString());
  set.set('ce-revision', envelope.revision);
  set.set('content-type', 'application/protobuf');
  for (const [name, value] of Object.entries(envelope.traceHeaders)) set.set(name, value);
  return set;
}
