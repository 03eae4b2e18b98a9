import { randomUUID } from 'node:crypto';
import { type EventInput, type EventSubject, eventCodecs, type MessageCodec } from '@kr/contracts';

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
