import type { EventSubject } from '@kr/contracts';
import { type ConsumerInfo, type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import type { BusConnection } from './bus-connection.ts';
import { STREAM, undefinedIfMissing } from './ensure-stream.ts';
import type { EventsInFlight } from './events-in-flight.ts';
import { endOf, pollUntil, type Wait } from './waiting.ts';

/** How far a consumer is behind. */
export interface Lag {
  /** Events that were not delivered yet. */
  pending: number;
  /** Events that were delivered and not acknowledged. */
  unacknowledged: number;
  /** Those of them that were delivered more than once. */
  redelivered: number;
  /** When the oldest of all these events was stored in the stream; undefined when there is none. */
  oldest: Date | undefined;
}

/** The progress of a consumer through the stream, in all processes under its name. */
export interface ConsumerProgress {
  /** @throws Error while the bus cannot be reached */
  lag(): Promise<Lag>;
  /**
   * Whether everything in the stream at the time of the call is handled within the timeout, by this or another process;
   * resolves as soon as it is. Failed events that await a retry are ignored.
   */
  whenCaughtUp(wait: Wait): Promise<boolean>;
}

export interface ProgressOf {
  connection: BusConnection;
  durable: string;
  subjects: readonly EventSubject[];
  inFlight: EventsInFlight;
}

const REACH_MS = 2_000;

export function consumerProgress(of: ProgressOf): ConsumerProgress {
  const lag = async (): Promise<Lag> => {
    const bus = await of.connection.whenUp(AbortSignal.timeout(REACH_MS));
    const { consumers, streams } = await jetstreamManager(bus, { checkAPI: false });
    const info = await consumers.info(STREAM, of.durable);
    const { num_pending: pending, num_ack_pending: unacknowledged, num_redelivered: redelivered } = info;
    const isBehind = pending + unacknowledged > 0;
    // All events up to the floor are done, and the next one of its subjects is not.
    const next = isBehind ? await firstEvent(streams, of.subjects, info.ack_floor.stream_seq + 1) : undefined;
    return { pending, unacknowledged, redelivered, oldest: next?.time };
  };
  /** Undefined when the wait ends first or the bus is down until then. */
  const within = async <Result>(
    wait: Wait,
    ask: (poll: Poll, ending: AbortSignal) => Promise<Result>,
  ): Promise<Result | undefined> => {
    const ending = endOf(wait);
    const ended = new Promise<undefined>((resolve) => {
      if (ending.aborted) resolve(undefined);
      ending.addEventListener('abort', () => resolve(undefined), { once: true });
    });
    const answer = async () => {
      const bus = await of.connection.whenUp(ending).catch(() => undefined);
      return bus === undefined ? undefined : ask(await pollOf(of, bus), ending);
    };
    return Promise.race([ended, answer()]);
  };
  return {
    lag,
    whenCaughtUp: async (wait) => {
      const isCaughtUp = await within(wait, (poll, ending) =>
        pollUntil(poll.isCaughtUp, of.inFlight.changed, ending),
      );
      return isCaughtUp === true;
    },
  };
}

type Streams = JetStreamManager['streams'];

/** The first event of these subjects from a position of the stream on. */
export async function firstEvent(streams: Streams, subjects: readonly string[], from: number) {
  const firsts = await Promise.all(
    subjects.map((subject) => {
      const query = { seq: from, next_by_subj: subject };
      return streams.getMessage(STREAM, query);
    }),
  );
  return firsts.filter((message) => message !== null).sort((a, b) => a.seq - b.seq)[0];
}

interface Poll {
  /** The end of the stream when the poll was created. */
  target: Promise<number>;
  /** Whether everything up to the target is handled. */
  isCaughtUp: () => Promise<boolean>;
}

async function pollOf({ durable, subjects, inFlight }: ProgressOf, bus: NatsConnection): Promise<Poll> {
  const { streams, consumers } = await jetstreamManager(bus, { checkAPI: false });
  const target = streams.info(STREAM).then(({ state }) => state.last_seq);
  // The waiter handles the failure; there may be no waiter left.
  target.catch(() => undefined);

  const isCaughtUp = async () => {
    const before = inFlight.snapshot();
    const [end, info] = await Promise.all([
      target,
      consumers.info(STREAM, durable).catch(undefinedIfMissing),
    ]);
    // A consumer that does not exist yet has handled nothing.
    if (info === undefined) return end === 0;
    if (info.ack_floor.stream_seq >= end) return true;
    if (!areUnacknowledgedPastTarget(info, end, before, inFlight.snapshot())) return false;
    const { stream_seq: delivered } = info.delivered;
    if (delivered >= end) return true;
    if (info.num_pending > 0) return false;
    // `num_pending` may lag behind the stream, and events of other subjects are never delivered.
    const next = await firstEvent(streams, subjects, delivered + 1);
    return next === undefined || next.seq > end;
  };
  return { target, isCaughtUp };
}

type Snapshot = ReturnType<EventsInFlight['snapshot']>;

/**
 * Whether no delivered event up to the target waits for an acknowledgement, except deferred ones. The server reports only a
 * count; if the events of this process explain it, before and after the poll, no other process has events in progress.
 */
function areUnacknowledgedPastTarget(
  info: ConsumerInfo,
  target: number,
  before: Snapshot,
  after: Snapshot,
): boolean {
  const deferred = [...before.deferred].filter((position) => after.deferred.has(position));
  const held = [...before.held].filter(
    (position) => after.held.has(position) && !deferred.includes(position),
  );
  return held.every((position) => position > target) && info.num_ack_pending <= held.length + deferred.length;
}
