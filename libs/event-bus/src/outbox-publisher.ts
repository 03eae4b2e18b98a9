import { traceHeaders, withRemoteTrace } from '@kr/telemetry';
import { type JetStreamClient, jetstream, type PubAck } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import type { BusConnection } from './bus-connection.ts';
import { cloudEventHeaders } from './cloud-event-headers.ts';
import { ensureStream, STREAM } from './ensure-stream.ts';
import type { OutboxRow } from './outbox-reader.ts';

export interface Outcome {
  /** The ids that the stream holds now. */
  published: string[];
  /** Why the others are missing. */
  error?: unknown;
  /** When the stream was made, if that was looked up: another date is another stream. */
  streamCreated?: string;
}

export interface Publisher {
  /** Whether the bus is there and the stream may have been lost since it was looked up. */
  isUnsure(): boolean;
  /**
   * Sends a window of events at once and waits for every acknowledgement; first for the bus, if it is down. Never
   * rejects.
   */
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

  return {
    isUnsure: () => isUp && !isStreamSure,
    publish: async (rows, signal) => {
      let streamCreated: string | undefined;
      try {
        const connection = await bus.whenUp(signal);
        if (!isStreamSure) {
          streamCreated = (await ensureStream(connection)).created;
          isStreamSure = true;
        }
        const outcomes = await send(connection, source, rows);
        const published = rows.filter((_, n) => outcomes[n]?.status === 'fulfilled').map((row) => row.id);
        const failed = outcomes.find((outcome) => outcome.status === 'rejected');
        if (failed !== undefined) isStreamSure = false;
        return {
          published,
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

function send(
  connection: NatsConnection,
  source: string,
  rows: readonly OutboxRow[],
): Promise<PromiseSettledResult<PubAck>[]> {
  const js = jetstream(connection);
  return Promise.allSettled(rows.map((row) => sendTraced(js, source, row)));
}

/** In the trace of the request that the event comes from, however long ago that was. */
function sendTraced(js: JetStreamClient, source: string, row: OutboxRow): Promise<PubAck> {
  const cause = textsOf(row.headers);
  if (Object.keys(cause).length === 0) return sendRow(js, source, row, cause);
  const attributes = {
    'messaging.system': 'nats',
    'messaging.operation.type': 'send',
    'messaging.destination.name': row.subject,
    'messaging.message.id': row.event_id,
  };
  return withRemoteTrace(cause, `send ${row.subject}`, { kind: 'producer', attributes }, () =>
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
    headers: cloudEventHeaders({
      eventId: row.event_id,
      source,
      subject: row.subject,
      aggregateId: row.aggregate_id,
      revision: row.revision,
      time: row.created_at,
      traceHeaders: headers,
    }),
    expect: { streamName: STREAM },
    timeout: 5_000,
    retries: 3,
  });
}

function textsOf(headers: Readonly<Record<string, unknown>>): Record<string, string> {
  const texts = Object.entries(headers).filter(
    (pair): pair is [string, string] => typeof pair[1] === 'string',
  );
  return Object.fromEntries(texts);
}
