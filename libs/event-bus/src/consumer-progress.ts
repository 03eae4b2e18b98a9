import { type EventSubject, isEventSubject } from '@kr/contracts';
import {
  type ConsumerInfo,
  JetStreamApiCodes,
  JetStreamApiError,
  jetstreamManager,
} from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import type { BusConnection } from './bus-connection.ts';
import { STREAM } from './ensure-stream.ts';
import { createNews, endOf, lookUntil, type News, type Wait } from './news.ts';

/** The events delivered to this process, by their positions in the stream. */
export interface Holdings {
  /** Announced when events were done. */
  readonly done: News;
  take(position: number): void;
  /** It failed and will be redelivered; `whenCaughtUp` does not wait for it. */
  park(position: number, delayMs: number): void;
  /** They were acknowledged, positively or negatively. */
  release(positions: readonly number[]): void;
  releaseAll(): void;
  /** Current positions: in progress, and failed ones that await redelivery. */
  snapshot(): { held: ReadonlySet<number>; parked: ReadonlySet<number> };
}

export function createHoldings(now: () => number): Holdings {
  const held = new Set<number>();
  const parkedUntil = new Map<number, number>();
  const done = createNews();
  return {
    done,
    take: (position) => {
      held.add(position);
      parkedUntil.delete(position);
    },
    park: (position, delayMs) => void parkedUntil.set(position, now() + delayMs),
    release: (positions) => {
      for (const position of positions) held.delete(position);
      done.announce();
    },
    releaseAll: () => held.clear(),
    snapshot: () => {
      // After its delay it may be redelivered to another process.
      for (const [position, until] of parkedUntil) if (until <= now()) parkedUntil.delete(position);
      return { held: new Set(held), parked: new Set(parkedUntil.keys()) };
    },
  };
}

export interface Progress {
  connection: BusConnection;
  durable: string;
  subjects: readonly EventSubject[];
  holdings: Holdings;
}

/**
 * Whether all events currently in the stream are handled within the timeout, by any process. Failed events that await
 * redelivery are ignored.
 */
export async function caughtUp(progress: Progress, wait: Wait): Promise<boolean> {
  const isReached = await within(wait, progress, ({ look }, ending) =>
    lookUntil(look, progress.holdings.done, ending),
  );
  return isReached === true;
}

/** The end of the stream if all up to there is done now; undefined if it is not, or if the time is over first. */
export async function endIfCaughtUp(progress: Progress, wait: Wait): Promise<number | undefined> {
  return within(wait, progress, async ({ look, goal }) => ((await look()) ? goal : undefined));
}

/** The position of the newest event of the stream; undefined if the time is over first. */
export async function streamEnd(progress: Progress, wait: Wait): Promise<number | undefined> {
  return within(wait, progress, ({ goal }) => goal);
}

/** Undefined when the wait ends first or the bus is away until then. */
async function within<Result>(
  wait: Wait,
  progress: Progress,
  ask: (lookout: Lookout, ending: AbortSignal) => Promise<Result>,
): Promise<Result | undefined> {
  const ending = endOf(wait);
  const ended = new Promise<undefined>((resolve) => {
    if (ending.aborted) resolve(undefined);
    ending.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  const answer = async () => {
    const bus = await progress.connection.whenUp(ending).catch(() => undefined);
    return bus === undefined ? undefined : ask(await lookoutOn(progress, bus), ending);
  };
  return Promise.race([ended, answer()]);
}

/** A goal with its polls. */
interface Lookout {
  /** The end of the stream when it began. */
  goal: Promise<number>;
  /** Whether all up to the goal is done. */
  look: () => Promise<boolean>;
}

async function lookoutOn({ durable, subjects, holdings }: Progress, bus: NatsConnection): Promise<Lookout> {
  const { streams, consumers } = await jetstreamManager(bus, { checkAPI: false });
  const goal = streams.info(STREAM).then(({ state }) => state.last_seq);
  // The waiter handles the failure; there may be no waiter left.
  goal.catch(() => undefined);
  // Up to this position, from the delivered one on, all events have subjects of other consumers.
  let foreignUpTo = 0;

  const isForeign = async (position: number) => {
    const message = await streams.getMessage(STREAM, { seq: position });
    const subject = message?.subject ?? '';
    return !isEventSubject(subject) || !subjects.includes(subject);
  };
  const isAllForeign = async (from: number, to: number) => {
    for (let position = Math.max(from, foreignUpTo + 1); position <= to; position += 1) {
      if (!(await isForeign(position))) return false;
      foreignUpTo = position;
    }
    return true;
  };
  const look = async () => {
    const before = holdings.snapshot();
    const [end, info] = await Promise.all([goal, consumers.info(STREAM, durable).catch(ifMissing)]);
    if (info === undefined) return end === 0;
    if (info.ack_floor.stream_seq >= end) return true;
    if (!isAllInHand(info, end, before, holdings.snapshot())) return false;
    const { stream_seq: delivered } = info.delivered;
    if (delivered >= end) return true;
    // `num_pending` may lag behind the stream, and events of other subjects are never delivered, so poll.
    return info.num_pending === 0 && isAllForeign(delivered + 1, end);
  };
  return { goal, look };
}

/** A consumer that is still being made has done nothing. */
function ifMissing(error: unknown): undefined {
  const isMissing = error instanceof JetStreamApiError && error.code === JetStreamApiCodes.ConsumerNotFound;
  if (!isMissing) throw error;
}

type Snapshot = ReturnType<Holdings['snapshot']>;

/**
 * Whether no delivered event up to the goal waits for an acknowledgement, except parked ones. The server reports only a
 * count; if the events of this process explain it, before and after the poll, no other process has events in progress.
 */
function isAllInHand(info: ConsumerInfo, goal: number, before: Snapshot, after: Snapshot): boolean {
  const parked = [...before.parked].filter((position) => after.parked.has(position));
  const held = [...before.held].filter((position) => after.held.has(position) && !parked.includes(position));
  return held.every((position) => position > goal) && info.num_ack_pending <= held.length + parked.length;
}
