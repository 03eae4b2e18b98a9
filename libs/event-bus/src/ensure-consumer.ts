import { type Consumer, type ConsumerConfig, jetstream, jetstreamManager } from '@nats-io/jetstream';
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
  const wanted = { ...CONFIGURATION, ...filterFor(connection, subjects) };
  const existing = await consumers.info(STREAM, durable).catch(undefinedIfMissing);
  if (existing === undefined) await consumers.add(STREAM, { durable_name: durable, ...wanted });
  else if (!isAlike(existing.config, wanted)) await consumers.update(STREAM, durable, wanted);
  return jetstream(connection).consumers.get(STREAM, durable);
}

// The consumer requests redelivery per event (nak with a delay), so the server's count and back-off are
// unused.
const CONFIGURATION = {
  ack_policy: 'explicit',
  deliver_policy: 'all',
  replay_policy: 'instant',
  ack_wait: nanos(ACK_WAIT_MS),
  max_deliver: -1,
  max_ack_pending: MAX_ACK_PENDING,
} as const satisfies Partial<ConsumerConfig>;

type Filter = Pick<Partial<ConsumerConfig>, 'filter_subject' | 'filter_subjects'>;

/** Servers before 2.10 filter by one subject only; the consumer itself drops other subjects. */
function filterFor(connection: NatsConnection, subjects: readonly string[]): Filter {
  const [only] = subjects;
  if (subjects.length === 1 && only !== undefined) return { filter_subject: only };
  const [major = 0, minor = 0] = (connection.info?.version ?? '').split('.').map(Number);
  const canFilterBySeveral = major > 2 || (major === 2 && minor >= 10);
  return canFilterBySeveral ? { filter_subjects: [...subjects] } : { filter_subject: 'knowledge.>' };
}

function isAlike(existing: ConsumerConfig, wanted: Filter): boolean {
  const subjectsOf = ({ filter_subject, filter_subjects }: Filter) =>
    JSON.stringify([...(filter_subjects ?? []), ...(filter_subject ? [filter_subject] : [])].sort());
  return subjectsOf(existing) === subjectsOf(wanted);
}
