import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import type { BusConnection } from './bus-connection.ts';
import { STREAM, undefinedIfMissing } from './ensure-stream.ts';
import type { EventsInFlight } from './events-in-flight.ts';
import { endOf, pollUntil, type Wait } from './waiting.ts';

interface ProgressOf {
  connection: BusConnection;
  durable: string;
  subjects: readonly string[];
  inFlight: EventsInFlight;
}

export type ConsumerProgress = ReturnType<typeof consumerProgress>;

const REACH_MS = 2_000;

/** The progress of a consumer through the stream, in all processes under its name. */
export function consumerProgress(of: ProgressOf) {
  return {
    /**
     * The number of undelivered and of unacknowledged events, of redelivered events, and when the
     * oldest of all was stored in the stream (undefined if it has handled all).
     *
     * @throws Error while the bus cannot be reached
     */
    lag: async () => {
      const bus = await of.connection.whenUp(AbortSignal.timeout(REACH_MS));
      const { consumers, streams } = await jetstreamManager(bus, { checkAPI: false });
      const info = await consumers.info(STREAM, of.durable);
      const { num_pending: pending, num_ack_pending: unacknowledged, num_redelivered: redelivered } = info;
      const isBehind = pending + unacknowledged > 0;
      // All events up to the floor are done, and the next one of its subjects is not.
      const next = isBehind
        ? await firstEvent(streams, of.subjects, info.ack_floor.stream_seq + 1)
        : undefined;
      return { pending, unacknowledged, redelivered, oldest: next?.time };
    },
    /**
     * Whether everything in the stream at the time of the call is handled within the timeout, by this or another process;
     * resolves as soon as it is. Failed events that await a retry are ignored.
     */
    whenCaughtUp: async (wait: Wait): Promise<boolean> => {
      const ending = endOf(wait);
      // Requests to the bus may outlast the wait.
      const ended = new Promise<boolean>((resolve) => {
        ending.addEventListener('abort', () => resolve(false), { once: true });
      });
      return !ending.aborted && Promise.race([ended, catchUp(of, ending)]);
    },
  };
}

async function catchUp(
  { connection, durable, subjects, inFlight }: ProgressOf,
  ending: AbortSignal,
): Promise<boolean> {
  const bus = await connection.whenUp(ending).catch(() => undefined);
  if (bus === undefined) return false;
  const { streams, consumers } = await jetstreamManager(bus, { checkAPI: false });
  const target = (await streams.info(STREAM)).state.last_seq;

  const isCaughtUp = async () => {
    const before = inFlight.snapshot();
    const info = await consumers.info(STREAM, durable).catch(undefinedIfMissing);
    // A consumer that does not exist yet has handled nothing.
    if (info === undefined) return target === 0;
    if (info.ack_floor.stream_seq >= target) return true;
    // The server reports only a count of unacknowledged events. If the events of this process explain it, before and after
    // the request, no other process has events in progress.
    const after = inFlight.snapshot();
    const deferred = [...before.deferred].filter((one) => after.deferred.has(one));
    const inProgress = [...before.inProgress].filter(
      (one) => after.inProgress.has(one) && !deferred.includes(one),
    );
    const isExplained = info.num_ack_pending <= inProgress.length + deferred.length;
    if (!isExplained || inProgress.some((position) => position <= target)) return false;
    if (info.delivered.stream_seq >= target) return true;
    if (info.num_pending > 0) return false;
    // `num_pending` may lag behind the stream, and events of other subjects are never delivered.
    const next = await firstEvent(streams, subjects, info.delivered.stream_seq + 1);
    return next === undefined || next.seq > target;
  };
  return pollUntil(isCaughtUp, inFlight.changed, ending);
}

/** The first event of these subjects from a position of the stream on. */
export async function firstEvent(
  streams: JetStreamManager['streams'],
  subjects: readonly string[],
  from: number,
) {
  const firsts = await Promise.all(
    subjects.map((subject) => {
      const query = { seq: from, next_by_subj: subject };
      return streams.getMessage(STREAM, query);
    }),
  );
  return firsts.filter((message) => message !== null).sort((a, b) => a.seq - b.seq)[0];
}
