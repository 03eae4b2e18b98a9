import { jetstreamManager } from '@nats-io/jetstream';
import type { BusConnection } from './bus-connection.ts';
import { STREAM } from './ensure-stream.ts';

export interface PendingOf {
  connection: BusConnection;
  durable: string;
  subjects: readonly string[];
}

const REACH_MS = 2_000;

/** How many events of a consumer's subjects it has not done yet. @throws Error while the bus cannot be reached */
export async function countPending(of: PendingOf): Promise<number> {
  const { info } = await look(of);
  return info.num_pending + info.num_ack_pending;
}

/** When the oldest of them was taken into the stream. @throws Error while the bus cannot be reached */
export async function oldestPending(of: PendingOf): Promise<Date | undefined> {
  const { info, streams } = await look(of);
  if (info.num_pending + info.num_ack_pending === 0) return undefined;
  // Everything up to the floor is done, and the first behind it that it asks for is not.
  const seq = info.ack_floor.stream_seq + 1;
  const firsts = await Promise.all(
    of.subjects.map((subject) => {
      const firstOf = { seq, next_by_subj: subject };
      return streams.getMessage(STREAM, firstOf);
    }),
  );
  const times = firsts.flatMap((message) => (message === null ? [] : [message.time.getTime()]));
  return times.length === 0 ? undefined : new Date(Math.min(...times));
}

async function look({ connection, durable }: PendingOf) {
  const bus = await connection.whenUp(AbortSignal.timeout(REACH_MS));
  const { consumers, streams } = await jetstreamManager(bus, { checkAPI: false });
  return { streams, info: await consumers.info(STREAM, durable) };
}
