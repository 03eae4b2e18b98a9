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
  return oldestBehind(await look(of), of.subjects);
}

/** How far a consumer is behind. */
export interface Lag {
  /** Events that it was not given yet. */
  pending: number;
  /** Events that it was given and has not answered. */
  unacknowledged: number;
  /** Those of them that it was given more than once. */
  redelivered: number;
  oldest: Date | undefined;
}

/** @throws Error while the bus cannot be reached */
export async function lagOf(of: PendingOf): Promise<Lag> {
  const looked = await look(of);
  const { num_pending: pending, num_ack_pending: unacknowledged, num_redelivered: redelivered } = looked.info;
  return { pending, unacknowledged, redelivered, oldest: await oldestBehind(looked, of.subjects) };
}

type Looked = Awaited<ReturnType<typeof look>>;

async function oldestBehind(
  { info, streams }: Looked,
  subjects: readonly string[],
): Promise<Date | undefined> {
  if (info.num_pending + info.num_ack_pending === 0) return undefined;
  // All events up to the floor are done, and the next one of its subjects is not.
  const seq = info.ack_floor.stream_seq + 1;
  const firsts = await Promise.all(
    subjects.map((subject) => {
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
