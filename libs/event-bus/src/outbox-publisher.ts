import { traceHeaders, withRemoteTrace } from '@kr/telemetry';
import { type JetStreamClient, jetstream, type PubAck } from '@nats-io/jetstream';
import type { BusConnection } from './bus-connection.ts';
import { cloudEventHeaders } from './cloud-event.ts';
import { ensureStream, STREAM } from './ensure-stream.ts';
import type { OutboxRow } from './outbox-reader.ts';

interface Outcome {
  /** The ids of the acknowledged events. */
  published: string[];
  /** Why the others are missing. */
  error?: unknown;
  /** The creation date of the stream, if it was read: another date means another stream. */
  streamCreated?: string;
}

export type Publisher = ReturnType<typeof createPublisher>;

/** Sends rows of the outbox to the stream. `onUp` is called when the bus becomes reachable. */
export function createPublisher(bus: BusConnection, source: string, onUp: () => void) {
  // Reset by every outage and failure, also while a batch is in flight, because a server may restart without its streams.
  let isStreamSure = false;
  let isUp = false;
  const unsubscribe = bus.onChange((value) => {
    isUp = value;
    isStreamSure = false;
    if (isUp) onUp();
  });
  return {
    /** Whether the bus is up and the stream may have been lost since it was last read. */
    isUnsure: () => isUp && !isStreamSure,
    /** Waits for the bus, sends all events at once and waits for every acknowledgement. Never rejects. */
    publish: async (rows: readonly OutboxRow[], signal: AbortSignal): Promise<Outcome> => {
      try {
        const connection = await bus.whenUp(signal);
        const isKnown = isStreamSure;
        isStreamSure = true;
        const streamCreated = isKnown ? undefined : (await ensureStream(connection)).created;
        const js = jetstream(connection);
        const acks = await Promise.allSettled(rows.map((row) => send(js, source, row)));
        const failed = acks.find((ack) => ack.status === 'rejected');
        if (failed !== undefined) isStreamSure = false;
        return {
          published: rows.filter((_, n) => acks[n]?.status === 'fulfilled').map((row) => row.id),
          ...(streamCreated && { streamCreated }),
          ...(failed && { error: failed.reason }),
        };
      } catch (error) {
        isStreamSure = false;
        return { published: [], error };
      }
    },
    close: unsubscribe,
  };
}

/** In the trace of the request that caused the event, if there is one. */
function send(js: JetStreamClient, source: string, row: OutboxRow): Promise<PubAck> {
  const publish = (headers: Readonly<Record<string, string>>) =>
    js.publish(row.subject, row.payload, {
      msgID: row.event_id,
      headers: cloudEventHeaders(row, source, headers),
      expect: { streamName: STREAM },
      timeout: 5_000,
      retries: 3,
    });
  if (Object.keys(row.headers).length === 0) return publish({});
  const attributes = {
    'messaging.system': 'nats',
    'messaging.operation.type': 'send',
    'messaging.destination.name': row.subject,
    'messaging.message.id': row.event_id,
  };
  return withRemoteTrace(row.headers, `send ${row.subject}`, { kind: 'producer', attributes }, () =>
    publish(traceHeaders()),
  );
}
