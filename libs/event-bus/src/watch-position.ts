import type { EventSubject } from '@kr/contracts';
import { counter } from '@kr/telemetry';
import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import { firstEvent } from './consumer-progress.ts';
import { STREAM } from './ensure-stream.ts';
import type { ConsumerOptions } from './handle-messages.ts';
import { createSignal } from './signal.ts';

const CHECK_EVERY_MS = 60_000;
const RETRY_MS = 10_000;

/**
 * Detects that the stream dropped events before a consumer handled them, because the consumer was away for longer than the
 * stream stores events, and recovers.
 */
export function watchPosition({
  connection,
  durable,
  subjects,
  database,
  recover,
  logger,
}: Omit<ConsumerOptions<EventSubject>, 'handleBatch'>) {
  const gaps = counter(
    '@kr/event-bus',
    { name: 'event_consumer_gaps', description: 'Gaps in the event stream detected by a consumer.' },
    [{ consumer: durable }],
  );
  const gapFound = createSignal();

  /**
   * Compares the stream with the consumer's progress, and records lost events. Call it before events are consumed: the
   * consumer's own position jumps over a gap.
   */
  const check = async (bus: NatsConnection): Promise<void> => {
    const { streams, consumers } = await jetstreamManager(bus, { checkAPI: false });
    // In this order: what is done meanwhile only makes the gap smaller.
    const { created, state } = await streams.info(STREAM);
    const stream = String(created);
    const { ack_floor, delivered, num_ack_pending } = await consumers.info(STREAM, durable);
    const [stored] = await database.$queryRawUnsafe<{ position: string }[]>(
      'select position::text from consumer_position where consumer = $1 and stream = $2',
      durable,
      stream,
    );
    const done = Math.max(ack_floor.stream_seq, Number(stored?.position ?? 0));
    // Without a position this is the first check of this stream.
    const isLost = stored !== undefined && state.first_seq > done + 1;
    if (isLost) {
      gaps({ consumer: durable });
      const lost = { durable, first: done + 1, last: state.first_seq - 1 };
      logger.error(lost, 'the stream has dropped events that were not handled; recovering');
    }

    const undelivered = Math.max(delivered.stream_seq, state.first_seq - 1) + 1;
    const next = num_ack_pending === 0 ? await firstEvent(streams, subjects, undelivered) : undefined;
    const isIdle = num_ack_pending === 0 && (next === undefined || next.seq > state.last_seq);
    const position = isIdle ? state.last_seq : Math.max(done, state.first_seq - 1);
    if (!isLost && position === Number(stored?.position)) return;
    await database.$executeRawUnsafe(STORE_POSITION, durable, stream, String(position), isLost);
    if (isLost) gapFound.notify();
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
    logger.info({ durable }, 'recovered from lost events');
  };

  return {
    check,
    /** Recovers from lost events until the signal is aborted; checks every minute. */
    watch: async (signal: AbortSignal): Promise<void> => {
      while (!signal.aborted) {
        const seen = gapFound.count;
        let pauseMs = CHECK_EVERY_MS;
        try {
          await recoverIfLost();
        } catch (error) {
          pauseMs = RETRY_MS;
          logger.warn({ err: error, durable }, 'recovery from lost events failed, retrying');
        }
        await gapFound.wait(seen, { ms: pauseMs, signal });
        if (signal.aborted) return;
        await connection
          .whenUp(signal)
          .then(check)
          .catch((error: unknown) =>
            logger.debug({ err: error, durable }, 'the position of the consumer could not be read'),
          );
      }
    },
  };
}

const STORE_POSITION = `
  insert into consumer_position (consumer, stream, position, lost_at)
  values ($1, $2, $3::bigint, case when $4::boolean then now() end)
  on conflict (consumer) do update
    set stream = excluded.stream, position = excluded.position,
      lost_at = coalesce(excluded.lost_at, consumer_position.lost_at)`;
