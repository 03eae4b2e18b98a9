import { traceHeaders, withRemoteTrace } from '@kr/telemetry';
import { type JetStreamClient, jetstream, type PubAck } from '@nats-io/jetstream';
import type { BusConnection } from './bus-connection.ts';
import { cloudEventHeaders } from './cloud-event.ts';
import { ensureStream, STREAM } from './ensure-stream.ts';
import type { OutboxRow } from './outbox-reader.ts';

export interface Outcome {
  /** The ids that the stream holds now. */
  published: string[];
  /** Why the others are missing. */
  error?: unknown;
  /** The creation date of the stream, if it was read: another date means another stream. */
  streamCreated?: string;
}

export interface Publisher {
  /** Whether the bus is up and the stream may have been lost since it was last read. */
  isUnsure(): boolean;
  /** Waits for the bus, sends all events at once and waits for every acknowledgement. Never rejects. */
  publish(rows: readonly OutboxRow[], signal: AbortSignal): Promise<Outcome>;
  close(): void;
}

export function createPublisher(bus: BusConnection, source: string, onUp: () => void): Publisher {
  // Reset after every outage and failure, because a server may restart without its streams.
  let isStreamSure = false;
  let isUp = false;
  const unsubscribe = bus.onChange((value) => {
    isUp = value;
    isStreamSure = false;
    if (isUp) onUp();
  });

  const publish = async (rows: readonly OutboxRow[], signal: AbortSignal): Promise<Outcome> => {
    const connection = await bus.whenUp(signal);
    const streamCreated = isStreamSure ? undefined : (await ensureStream(connection)).created;
    isStreamSure = true;
    const js = jetstream(connection);
    const acks = await Promise.allSettled(rows.map((row) => sendTraced(js, source, row)));
    const failed = acks.find((ack) => ack.status === 'rejected');
    if (failed !== undefined) isStreamSure = false;
    return {
      published: rows.filter((_, n) => acks[n]?.status === 'fulfilled').map((row) => row.id),
      ...(streamCreated && { streamCreated }),
      ...(failed && { error: failed.reason }),
    };
  };
  return {
    isUnsure: () => isUp && !isStreamSure,
    publish: (rows, signal) =>
      publish(rows, signal).catch((error: unknown) => {
        isStreamSure = false;
        return { published: [], error };
      }),
    close: unsubscribe,
  };
}

/** In the trace of the request that the event comes from, however long ago that was. */
function sendTraced(js: JetStreamClient, source: string, row: OutboxRow): Promise<PubAck> {
  if (Object.keys(row.headers).length === 0) return sendRow(js, source, row, {});
  const attributes = {
    'messaging.system': 'nats',
    'messaging.operation.type': 'send',
    'messaging.destination.name': row.subject,
    'messaging.message.id': row.event_id,
  };
  return withRemoteTrace(row.headers, `send ${row.subject}`, { kind: 'producer', attributes }, () =>
    sendRow(js, source, row, traceHeaders()),
  );
}

function sendRow(
  js: JetStreamClient,
  source: string,
  row: OutboxRow,
  headers: Readonly<Record<string, string>>,
): Promise<PubAck> {
  return js.publish(row.subject, row.payload, {
    msgID: row.event_id,
    headers: cloudEventHeaders(row, source, headers),
    expect: { streamName: STREAM },
    timeout: 5_000,
    retries: 3,
  });
}
