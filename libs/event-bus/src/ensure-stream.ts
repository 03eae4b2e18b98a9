import {
  JetStreamApiCodes,
  JetStreamApiError,
  jetstreamManager,
  type StreamConfig,
  type StreamInfo,
} from '@nats-io/jetstream';
import { type NatsConnection, nanos } from '@nats-io/nats-core';

/** The one stream that carries every event. */
export const STREAM = 'KNOWLEDGE';

const CONFIGURATION = {
  name: STREAM,
  subjects: ['knowledge.>'],
  retention: 'limits',
  storage: 'file',
  num_replicas: 1,
  // `old` would drop events silently when the stream is full. With `new` they wait in the outboxes.
  discard: 'new',
  max_age: nanos(14 * 86_400_000),
  max_bytes: 10 * 2 ** 30,
  max_msg_size: 512 * 1024,
  duplicate_window: nanos(5 * 60_000),
  deny_delete: true,
  deny_purge: true,
  allow_direct: true,
} as const satisfies Partial<StreamConfig>;

const INSUFFICIENT_STORAGE = 10_047;

/**
 * Creates the stream if it is missing. An existing stream keeps the settings of its operator.
 *
 * @throws Error when the server cannot be reached or rejects the request
 */
export async function ensureStream(connection: NatsConnection): Promise<StreamInfo> {
  const { streams } = await jetstreamManager(connection);
  const existing = await streams.info(STREAM).catch(undefinedIfMissing);
  if (existing !== undefined) return existing;
  try {
    return await streams.add(CONFIGURATION);
  } catch (error) {
    // The server reserves the limit when it creates the stream; with less room than that the stream has no limit.
    if (error instanceof JetStreamApiError && error.code === INSUFFICIENT_STORAGE)
      return streams.add({ ...CONFIGURATION, max_bytes: -1 });
    // Another process may have created it at the same moment.
    const created = await streams.info(STREAM).catch(undefinedIfMissing);
    if (created !== undefined) return created;
    throw error;
  }
}

/** For `catch`: turns the error about a stream or consumer that does not exist into undefined. */
export function undefinedIfMissing(error: unknown): undefined {
  const isMissing =
    error instanceof JetStreamApiError &&
    (error.code === JetStreamApiCodes.StreamNotFound || error.code === JetStreamApiCodes.ConsumerNotFound);
  if (!isMissing) throw error;
}
