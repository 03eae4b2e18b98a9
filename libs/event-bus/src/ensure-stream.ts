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

export interface StreamSettings {
  /** Copies of the stream; 1 unless given, 3 in a cluster. */
  replicas?: number;
  /** 10 GiB unless given. A full stream refuses events, which then wait in the outboxes. */
  maxBytes?: number;
}

/**
 * Creates the stream if it is missing. An existing stream is changed only where `settings` names something else, so
 * that services, which name nothing, leave alone what the operator has set.
 *
 * @throws when the server cannot be reached or refuses
 */
export async function ensureStream(
  connection: NatsConnection,
  settings: StreamSettings = {},
): Promise<StreamInfo> {
  const { streams } = await jetstreamManager(connection);
  const existing = await streams.info(STREAM).catch(absentIfUnknown);
  if (existing === undefined) return create(streams, configuration(settings));

  const wanted = {
    ...(settings.replicas !== undefined && { num_replicas: settings.replicas }),
    ...(settings.maxBytes !== undefined && { max_bytes: settings.maxBytes }),
  };
  const isAsWanted = Object.entries(wanted).every(
    ([key, value]) => Reflect.get(existing.config, key) === value,
  );
  return isAsWanted ? existing : streams.update(STREAM, wanted);
}

type Streams = Awaited<ReturnType<typeof jetstreamManager>>['streams'];
type NewStream = Partial<StreamConfig> & { name: string };

function configuration({ replicas = 1, maxBytes = 10 * 2 ** 30 }: StreamSettings): NewStream {
  return {
    name: STREAM,
    subjects: ['knowledge.>'],
    retention: 'limits',
    storage: 'file',
    num_replicas: replicas,
    // `old` would drop events silently when the stream is full.
    discard: 'new',
    max_age: nanos(14 * 86_400_000),
    max_bytes: maxBytes,
    max_msg_size: 512 * 1024,
    duplicate_window: nanos(5 * 60_000),
    deny_delete: true,
    deny_purge: true,
    allow_direct: true,
  };
}

const INSUFFICIENT_STORAGE = 10_047;

async function create(streams: Streams, wanted: NewStream): Promise<StreamInfo> {
  try {
    return await streams.add(wanted);
  } catch (error) {
    // A limit is reserved when the stream is made; a server with less room than that gets a stream without one.
    if (error instanceof JetStreamApiError && error.code === INSUFFICIENT_STORAGE) {
      return streams.add({ ...wanted, max_bytes: -1 });
    }
    // Somebody else made it at the same moment.
    const existing = await streams.info(STREAM).catch(absentIfUnknown);
    if (existing !== undefined) return existing;
    throw error;
  }
}

function absentIfUnknown(error: unknown): undefined {
  if (error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound) return undefined;
  throw error;
}
