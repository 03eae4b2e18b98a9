import { type EventSubject, isEventSubject } from '@kr/contracts';
import { type ConsumerInfo, jetstreamManager } from '@nats-io/jetstream';
import type { BusConnection } from './bus-connection.ts';
import { STREAM } from './ensure-stream.ts';
import { createNews, endOf, lookUntil, type News, type Wait } from './news.ts';

/** What this process knows of the events it was given, by their positions in the stream. */
export interface Holdings {
  /** Announced when events were done. */
  readonly done: News;
  take(position: number): void;
  /** It failed and comes back later: nobody waits for it. */
  park(position: number, delayMs: number): void;
  /** They were answered, whatever the answer. */
  release(positions: readonly number[]): void;
  releaseAll(): void;
  /** Positions of this moment: those in hand, and those that failed and come back later. */
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
      // When its time has come it is somebody's again, perhaps another process's.
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
 * Whether all that the stream holds at this moment is done within the time, by whichever process. Events that failed
 * and are to be tried later are not waited for.
 */
export async function caughtUp(progress: Progress, wait: Wait): Promise<boolean> {
  const ending = endOf(wait);
  const ended = new Promise<false>((resolve) => {
    if (ending.aborted) resolve(false);
    ending.addEventListener('abort', () => resolve(false), { once: true });
  });
  return Promise.race([ended, reach(progress, ending)]);
}

async function reach(
  { connection, durable, subjects, holdings }: Progress,
  ending: AbortSignal,
): Promise<boolean> {
  const bus = await connection.whenUp(ending).catch(() => undefined);
  if (bus === undefined) return false;
  const { streams, consumers } = await jetstreamManager(bus, { checkAPI: false });
  const target = streams.info(STREAM).then(({ state }) => state.last_seq);
  // Whoever looks for it hears of its failure; there may be nobody left to look.
  target.catch(() => undefined);
  // Positions up to here, from what was delivered on, hold only events that this consumer does not ask for.
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
    const [goal, info] = await Promise.all([target, consumers.info(STREAM, durable)]);
    if (info.ack_floor.stream_seq >= goal) return true;
    if (!isAllInHand(info, goal, before, holdings.snapshot())) return false;
    const { stream_seq: delivered } = info.delivered;
    if (delivered >= goal) return true;
    // `num_pending` may lag behind the stream, and what is not asked for is never delivered: only a look tells.
    return info.num_pending === 0 && isAllForeign(delivered + 1, goal);
  };
  return lookUntil(look, holdings.done, ending);
}

type Snapshot = ReturnType<Holdings['snapshot']>;

/**
 * Whether of what was delivered up to the goal nothing waits for an answer, except what is parked. The server only
 * counts; what was here before and after it counted explains its number, and the rest is in other hands.
 */
function isAllInHand(info: ConsumerInfo, goal: number, before: Snapshot, after: Snapshot): boolean {
  const parked = [...before.parked].filter((position) => after.parked.has(position));
  const held = [...before.held].filter((position) => after.held.has(position) && !parked.includes(position));
  return held.every((position) => position > goal) && info.num_ack_pending <= held.length + parked.length;
}
