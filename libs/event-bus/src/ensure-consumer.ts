import { type Consumer, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { type NatsConnection, nanos } from '@nats-io/nats-core';
import { STREAM, undefinedIfMissing } from './ensure-stream.ts';

/** Milliseconds after which an unacknowledged event is redelivered. */
export const ACK_WAIT_MS = 10_000;
/** The maximum of unacknowledged events of a consumer. */
export const MAX_ACK_PENDING = 256;

/** Creates the durable consumer, or updates the subjects of an existing one, and binds to it. */
export async function ensureConsumer(
  connection: NatsConnection,
  durable: string,
  subjects: readonly string[],
): Promise<Consumer> {
  const { consumers } = await jetstreamManager(connection);
  const filter_subjects = [...subjects].sort();
  const existing = await consumers.info(STREAM, durable).catch(undefinedIfMissing);
  if (existing === undefined) {
    await consumers.add(STREAM, {
      durable_name: durable,
      filter_subjects,
      ack_policy: 'explicit',
      deliver_policy: 'all',
      replay_policy: 'instant',
      ack_wait: nanos(ACK_WAIT_MS),
      // The consumer requests redelivery per event (nak with a delay), without the server's back-off.
      max_deliver: -1,
      max_ack_pending: MAX_ACK_PENDING,
    });
  } else if (
    String(existing.config.filter_subjects ?? existing.config.filter_subject) !== String(filter_subjects)
  ) {
    await consumers.update(STREAM, durable, { filter_subjects });
  }
  return jetstream(connection).consumers.get(STREAM, durable);
}
