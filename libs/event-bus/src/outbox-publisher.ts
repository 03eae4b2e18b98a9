import { jetstream } from '@nats-io/jetstream';
import type { BusConnection } from './bus-connection.ts';
import { cloudEventHeaders } from './cloud-event-headers.ts';
import { ensureStream, STREAM } from './ensure-stream.ts';
import type { OutboxRow } from './outbox-reader.ts';

export interface Publisher {
  /**
   * Sends a window of events at once and waits for every acknowledgement; first for the bus, if it is down. Never
   * rejects: `published` has the ids that the stream holds, `error` why the others are missing.
   */
  publish(rows: readonly OutboxRow[], signal: AbortSignal): Promise<{ published: string[]; error?: unknown }>;
  close(): void;
}

export function createPublisher(bus: BusConnection, source: string): Publisher {
  // Asked for again after every outage and every failure: a server may come back without its streams.
  let isStreamSure = false;
  const unsubscribe = bus.onChange(() => {
    isStreamSure = false;
  });

  return {
    publish: async (rows, signal) => {
      try {
        const connection = await bus.whenUp(signal);
        if (!isStreamSure) {
          await ensureStream(connection);
          isStreamSure = true;
        }
        const js = jetstream(connection);
        const sends = rows.map((row) =>
          js.publish(row.subject, row.payload, {
            msgID: row.event_id,
            headers: cloudEventHeaders({
              eventId: row.event_id,
              source,
              subject: row.subject,
              aggregateId: row.aggregate_id,
              revision: row.revision,
              time: row.created_at,
              traceHeaders: row.headers,
            }),
            expect: { streamName: STREAM },
            timeout: 5_000,
            retries: 3,
          }),
        );
        const outcomes = await Promise.allSettled(sends);
        const published = rows.filter((_, n) => outcomes[n]?.status === 'fulfilled').map((row) => row.id);
        const failed = outcomes.find((outcome) => outcome.status === 'rejected');
        if (failed === undefined) return { published };
        isStreamSure = false;
        return { published, error: failed.reason };
      } catch (error) {
        isStreamSure = false;
        return { published: [], error };
      }
    },
    close: unsubscribe,
  };
}
