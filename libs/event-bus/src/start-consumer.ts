import type { EventSubject } from '@kr/contracts';
import type { Consumer as JetStreamConsumer, JsMsg } from '@nats-io/jetstream';
import { decodeEvent, type EncodedEvent } from './cloud-event.ts';
import { type ConsumerProgress, consumerProgress } from './consumer-progress.ts';
import { ACK_WAIT_MS, ensureConsumer, MAX_ACK_PENDING } from './ensure-consumer.ts';
import { ensureStream } from './ensure-stream.ts';
import { eventsInFlight } from './events-in-flight.ts';
import { type ConsumerOptions, type Handling, handleMessages } from './handle-messages.ts';
import { observeConsumer } from './observe-consumer.ts';
import { createSignal } from './signal.ts';
import { createThrottle, type Throttle } from './throttle.ts';
import { backOffMs, pause } from './waiting.ts';
import { watchPosition } from './watch-position.ts';

export interface Consumer extends ConsumerProgress {
  readonly durable: string;
  /**
   * Handles one stored event now, while the consumer continues with the stream.
   *
   * @throws Error when it is not an event of this consumer or cannot be decoded, or what the handler threw
   */
  replay(subject: string, stored: EncodedEvent): Promise<void>;
  /** Events that failed in this process and wait for their next try. */
  failing(): number;
  /** Finishes the current batch and returns the other events to the server. May be called twice. */
  stop(): Promise<void>;
}

export const LIMITS = {
  /** Events per batch. */
  maxBatch: 100,
  retryDelaysMs: [
    1_000, 5_000, 15_000, 60_000, 300_000, 300_000, 300_000, 300_000, 300_000,
  ] as readonly number[],
};

/**
 * Delivers events to a handler, in batches, at least once each, through outages of the bus and of this
 * process.
 *
 * A failed batch is retried event by event, so that one bad event does not block others: it is redelivered
 * later, and after the last retry, or at once when it cannot be decoded, stored in `dead_letter`. While a
 * dependency of the handler is unavailable (`isTransient`), the batch waits and no failure is counted.
 */
export function startConsumer<Subject extends EventSubject>(
  options: ConsumerOptions<Subject>,
  limits = LIMITS,
): Consumer {
  const { connection, durable, subjects, logger, batchEveryMs = 0 } = options;
  const stopping = new AbortController();
  const inFlight = eventsInFlight(Date.now);
  const throttle = createThrottle(batchEveryMs, Date.now);
  const progress = consumerProgress({ connection, durable, subjects, inFlight });
  const observed = observeConsumer(durable, progress, logger);
  const position = watchPosition(options);
  const consumption = { ...options, ...limits, inFlight, throttle, observed, failures: new Map() };

  const consumeUntilStopped = async () => {
    for (let interruptions = 0; !stopping.signal.aborted; ) {
      try {
        const bus = await connection.whenUp(stopping.signal);
        await ensureStream(bus);
        const consumer = await ensureConsumer(bus, durable, subjects);
        await position.check(bus);
        interruptions = 0;
        await consume(consumer, consumption, stopping.signal);
      } catch (error) {
        interruptions += 1;
        if (!stopping.signal.aborted)
          logger.warn({ err: error, durable, failures: interruptions }, 'consumer was interrupted, retrying');
        await pause(Math.min(backOffMs(interruptions), 5_000), stopping.signal);
      }
    }
  };
  const running = Promise.all([consumeUntilStopped(), position.watch(stopping.signal)]);

  return {
    ...progress,
    durable,
    replay: async (name, stored) => {
      const subject = subjects.find((one) => one === name);
      if (subject === undefined) throw new Error(`${durable} does not consume ${name}`);
      await options.handleBatch([decodeEvent(subject, stored)]);
    },
    whenCaughtUp: (wait) => throttle.bypass(() => progress.whenCaughtUp(wait)),
    failing: () => inFlight.snapshot().deferred.size,
    stop: async () => {
      stopping.abort();
      observed.stop();
      await running;
    },
  };
}

interface Consumption<Subject extends EventSubject> extends Handling<Subject> {
  maxBatch: number;
  throttle: Throttle;
}

/** Consumes until the signal, the loss of the connection, or the loss of the consumer on the server. */
async function consume<Subject extends EventSubject>(
  consumer: JetStreamConsumer,
  options: Consumption<Subject>,
  stopping: AbortSignal,
): Promise<void> {
  const { connection, inFlight, throttle, maxBatch } = options;
  const delivered = createSignal();
  const ended = new AbortController();
  const signal = AbortSignal.any([stopping, ended.signal]);
  // A pull does not survive the connection reliably; a new one costs one request.
  const unsubscribe = connection.onChange((isUp) => !isUp && ended.abort());

  const waiting: JsMsg[] = [];
  let batch: JsMsg[] = [];
  const messages = await consumer.consume({
    max_messages: MAX_ACK_PENDING,
    abort_on_missing_resource: true,
    callback: (message) => {
      inFlight.add(message.info.streamSequence);
      waiting.push(message);
      delivered.notify();
    },
  });
  const closed = messages.closed().finally(() => ended.abort());
  const keepAlive = setInterval(() => {
    for (const message of [...batch, ...waiting]) message.working();
  }, ACK_WAIT_MS / 3);

  try {
    while (!signal.aborted) {
      if (waiting.length === 0) await delivered.wait(delivered.count, { signal });
      await throttle.acquire(signal);
      batch = waiting.splice(0, maxBatch);
      await handleMessages(batch, options, signal);
      inFlight.release(batch.map(({ info }) => info.streamSequence));
      batch = [];
    }
  } finally {
    unsubscribe();
    clearInterval(keepAlive);
    await messages.close();
    for (const message of waiting) message.nak();
    inFlight.releaseAll();
  }
  const error = await closed;
  if (error instanceof Error && !stopping.aborted) throw error;
}
