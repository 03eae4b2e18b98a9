import type { Sql } from '@kr/database';
import { counter, type Logger } from '@kr/telemetry';
import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';

import { STREAM } from './ensure-stream.ts';
import { pause } from './pause.ts';

export interface WatchedConsumer {
  durable: string;
  subjects: readonly string[];
  database: Sql;
  /** Brings what the events of the consumer change to the present state without them; may run twice. */
  recover: () => Promise<void>;
  logger: Logger;
}

export interface PositionWatch {
  /**
   * Compares the stream with the consumer's progress, and records lost events. Call it before events are consumed: the
   * consumer's own position jumps over a gap.
   */
  look(bus: NatsConnection): Promise<void>;
  /** Recovers from lost events until the signal is aborted; checks every minute. */
  keepWatching(whenUp: () => Promise<NatsConnection>, signal: AbortSignal): Promise<void>;
}

const LOOK_EVERY_MS = 60_000;
const RETRY_MS = 10_000;

/**
 * Notices when the stream has dropped events that a consumer had not done, because it was away for longer than the stream
 * keeps them, and makes up for them.
 */
export function watchPosition({
  durable,
  subjects,
  database,
  recover,
  logger,
}: WatchedConsumer): PositionWatch {
  const gaps = counter(
    '@kr/event-bus',
    { name: 'event_consumer_gaps', description: 'Times that a consumer found events gone from the stream.' },
    [{ consumer: durable }],
  );
  let wake = new AbortController();

  const look = async (bus: NatsConnection): Promise<void> => {
    const { streams, consumers } = await jetstreamManager(bus, { checkAPI: false });
    // In this order: what is done meanwhile only makes the gap smaller.
    const { created, state } = await streams.info(STREAM);
    const stream = String(created);
    const { ack_floor, delivered, num_ack_pending } = await consumers.info(STREAM, durable);
    const [known] = await database.$queryRawUnsafe<{ position: string }[]>(
      'select position::text from consumer_position where consumer = $1 and stream = $2',
      durable,
      stream,
    );
    const done = Math.max(ack_floor.stream_seq, Number(known?.position ?? 0));
    // Without a position this is the first check of this stream.
    const isLost = known !== undefined && state.first_seq > done + 1;
    if (isLost) {
      gaps({ consumer: durable });
      const lost = { durable, first: done + 1, last: state.first_seq - 1 };
      logger.error(lost, 'the stream has dropped events that were not handled; what they changed is rebuilt');
    }

    const hasNext = async () => {
      const from = Math.max(delivered.stream_seq, state.first_seq - 1) + 1;
      const nexts = await Promise.all(
        subjects.map((subject) => {
          const firstOf = { seq: from, next_by_subj: subject };
          return streams.getMessage(STREAM, firstOf);
        }),
      );
      return nexts.some((message) => message !== null && message.seq <= state.last_seq);
    };
    const isIdle = num_ack_pending === 0 && !(await hasNext());
    const position = isIdle ? state.last_seq : Math.max(done, state.first_seq - 1);
    if (known !== undefined && !isLost && position === Number(known.position)) return;
    await database.$executeRawUnsafe(NOTE, durable, stream, String(position), isLost);
    if (isLost) wake.abort();
  };

  const recoverIfLost = async (): Promise<void> => {
    const [lost] = await database.$queryRawUnsafe<{ at: string }[]>(
      'select lost_at::text as at from consumer_position where consumer = $1 and lost_at is not null',
      durable,
    );
    if (lost === undefined) return;
    await recover();
    await database.$executeRawUnsafe(
      'update consumer_position set lost_at = null where consumer = $1 and lost_at = $2::timestamptz',
      durable,
      lost.at,
    );
    logger.info({ durable }, 'what lost events had changed is up to date');
  };

  return {
    look,
    async keepWatching(whenUp, signal) {
      while (!signal.aborted) {
        wake = new AbortController();
        let pauseMs = LOOK_EVERY_MS;
        try {
          await recoverIfLost();
        } catch (error) {
          pauseMs = RETRY_MS;
          logger.warn({ err: error, durable }, 'lost events could not be made up for yet, trying again');
        }
        await pause(pauseMs, AbortSignal.any([signal, wake.signal]));
        if (signal.aborted) return;
        await whenUp()
          .then(look)
          .catch((error: unknown) =>
            logger.debug({ err: error, durable }, 'the position of the consumer is not known'),
          );
      }
    },
  };
}

const NOTE = `
  insert into consumer_position (consumer, stream, position, lost_at)
  values ($1, $2, $3::bigint, case when $4::boolean then now() end)
  on conflict (consumer) do update
    set stream = excluded.stream, position = excluded.position,
      lost_at = coalesce(excluded.lost_at, consumer_position.lost_at)`;
