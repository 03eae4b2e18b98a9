import { randomUUID } from 'node:crypto';
import { connectBus, STREAM } from '@kr/event-bus';
import { createLogger } from '@kr/telemetry';
import { until } from '@kr/testbed';
import { jetstream, jetstreamManager, type StoredMsg } from '@nats-io/jetstream';

export interface Stream {
  /** The number of the newest event. */
  last(): Promise<number>;
  /** Sends the events after one again, the newest first, each as it was and once more under a new name. */
  sendAgain(after: number): Promise<number>;
  /** Sends every event several times again, all of them in a random order. */
  sendShuffled(times: number, random: () => number): Promise<number>;
  /** Removes the stream with all events, as a lost store does. */
  lose(): Promise<void>;
  /** Waits until every consumer has acknowledged everything. */
  consumed(): Promise<void>;
  close(): Promise<void>;
}

/** The stream of a running system, as somebody else on the bus. */
export async function openStream(natsUrl: string): Promise<Stream> {
  const bus = connectBus({ servers: new URL(natsUrl), name: 'test', logger: createLogger('test') });
  const connection = await bus.whenUp(AbortSignal.timeout(30_000));
  const { streams, consumers } = await jetstreamManager(connection);
  const js = jetstream(connection);
  const last = async (): Promise<number> => (await streams.info(STREAM)).state.last_seq;

  const send = async ({ subject, data, header }: StoredMsg, id: string | undefined): Promise<void> => {
    if (id !== undefined) header.set('ce-id', id);
    // The stream itself would leave out what it knows by this name.
    await js.publish(subject, data, { headers: header, msgID: randomUUID() });
  };

  return {
    last,
    sendAgain: async (after) => {
      const newest = await last();
      for (let seq = newest; seq > after; seq -= 1) {
        const message = await streams.getMessage(STREAM, { seq });
        if (message === null) continue;
        await send(message, undefined);
        await send(message, randomUUID());
      }
      return newest - after;
    },
    sendShuffled: async (times, random) => {
      const newest = await last();
      const order = Array.from({ length: newest * times }, (_, n) => ({
        seq: 1 + (n % newest),
        place: random(),
      }));
      for (const { seq } of order.sort((one, other) => one.place - other.place)) {
        const message = await streams.getMessage(STREAM, { seq });
        if (message !== null) await send(message, randomUUID());
      }
      return order.length;
    },
    lose: async () => {
      await streams.delete(STREAM);
    },
    consumed: async () => {
      await until(
        async () => {
          for await (const one of consumers.list(STREAM)) {
            if (one.num_pending > 0 || one.num_ack_pending > 0) return false;
          }
          return true;
        },
        { what: 'the consumers' },
      );
    },
    close: () => bus.close(),
  };
}
