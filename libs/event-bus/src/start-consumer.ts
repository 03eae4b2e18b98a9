import { type EventSubject, isEventSubject } from '@kr/contracts';
import type { Sql } from '@kr/database';
import { isTransient } from '@kr/service-error';
import { type Logger, withCauses } from '@kr/telemetry';
import type { Consumer as JetStreamConsumer, JsMsg } from '@nats-io/jetstream';

import { createBell } from './bell.ts';
import type { BusConnection } from './bus-connection.ts';

import { caughtUp, createHoldings, endIfCaughtUp, type Holdings, streamEnd } from './consumer-progress.ts';
import { keepDeadLetter, reasonOf } from './dead-letter.ts';
import { ACK_WAIT_MS, ensureConsumer, MAX_ACK_PENDING } from './ensure-consumer.ts';
import { ensureStream } from './ensure-stream.ts';
import type { Wait } from './news.ts';
import { type HandlingCounts, observeConsumer } from './observe-consumer.ts';
import { createPacer, type Pacer } from './pacer.ts';
import { backOffMs, pause } from './pause.ts';
import { countPending, oldestPending } from './pending-events.ts';
import {
  decodeEvent,
  type EncodedEvent,
  encodedIn,
  eventIdOf,
  type ReceivedEvent,
} from './received-event.ts';
import { watchPosition } from './watch-position.ts';

export interface ConsumerOptions<Subject extends EventSubject> {
  connection: BusConnection;
  /** `<service>-<what it does>`: the position in the stream belongs to this name, for ever. */
  durable: string;
  subjects: readonly Subject[];
  /**
   * Applies all events or, by throwing, none. Called again with the same events after a
   * failure, and with events out of order or twice: guard by revision, or by `claimEvents`.
   */
  handleBatch: (events: ReceivedEvent<Subject>[]) => Promise<void>;
  /** Where events go that can never be handled, and where its position is noted. */
  database: Sql;
  /**
   * Brings what its events change to the present state without them, after the stream has dropped some that were not handled;
   * may run twice. The consumer goes on meanwhile.
   */
  recover: () => Promise<void>;
  logger: Logger;
  /** The most events in one batch; 100 unless given. */
  maxBatch?: number;
  /**
   * Milliseconds between the starts of two batches, so that the events of a busy period are handled
   * together; default none. Nothing is delayed while a caller waits.
   */
  batchEveryMs?: number;
  /** Milliseconds before an event is tried again by itself, one for each failure; then it is a dead letter. */
  retryDelaysMs?: readonly number[];
}

export interface Consumer {
  readonly durable: string;
  /**
   * Handles one stored event now, while the consumer goes on with the stream.
   *
   * @throws Error when it is not an event of this consumer or cannot be decoded, or what the handler threw
   */
  replay(subject: string, stored: EncodedEvent): Promise<void>;
  /** How many events of its subjects it has not done yet. @throws Error while the bus cannot be reached */
  pending(): Promise<number>;
  /**
   * When the oldest of those events was stored in the stream; undefined when there is none.
   *
   * @throws Error while the bus cannot be reached
   */
  oldestPending(): Promise<Date | undefined>;
  /**
   * Whether everything in the stream at the time of the call is handled within the timeout, by this or another
   * process under the same name; resolves as soon as it is. Failed events that await a retry are ignored.
   */
  whenCaughtUp(wait: Wait): Promise<boolean>;
  /** How many events failed here and wait for their next try. */
  failing(): number;
  /**
   * The end of the stream, if everything up to there is done, as `whenCaughtUp` has it; undefined when something is not,
   * or when that is not known within the time.
   */
  endIfCaughtUp(wait: Wait): Promise<number | undefined>;
  /** The position of the newest event of the stream; undefined when that is not known within the time. */
  streamEnd(wait: Wait): Promise<number | undefined>;
  /** Finishes the batch at hand and gives the rest back. May be called twice. */
  stop(): Promise<void>;
}

const RETRY_DELAYS_MS = [1_000, 5_000, 15_000, 60_000, 300_000, 300_000, 300_000, 300_000, 300_000];

/**
 * Delivers events to a handler, in batches, at least once each, through outages of the bus and of this
 * process.
 *
 * A failed batch is retried event by event, so that one bad event does not block others: it is redelivered
 * later, and after the last retry, or at once when it cannot be decoded, stored in `dead_letter`. While a
 * dependency of the handler is unavailable (`isTransient`), the batch waits and no failure is counted.
 */
export function startConsumer<Subject extends EventSubject>(options: ConsumerOptions<Subject>): Consumer {
  const { connection, durable, subjects, logger, batchEveryMs = 0 } = options;
  const stopping = new AbortController();
  const holdings = createHoldings(Date.now);
  const pacer = createPacer(batchEveryMs, Date.now);
  const progress = { connection, durable, subjects, holdings };
  const observed = observeConsumer(progress, logger);
  const failures = new Map<number, number>();
  const position = watchPosition(options);

  const keepConsuming = async () => {
    for (let interruptions = 0; !stopping.signal.aborted; ) {
      try {
        const bus = await connection.whenUp(stopping.signal);
        await ensureStream(bus);
        const consumer = await ensureConsumer(bus, durable, subjects);
        await position.look(bus);
        interruptions = 0;
        await consume(consumer, { ...options, holdings, pacer, observed, failures }, stopping.signal);
      } catch (error) {
        interruptions += 1;
        if (!stopping.signal.aborted)
          logger.warn({ err: error, durable, failures: interruptions }, 'consumer was interrupted, retrying');
        await pause(Math.min(backOffMs(interruptions), 5_000), stopping.signal);
      }
    }
  };
  const whenUp = () => connection.whenUp(stopping.signal);
  const running = Promise.all([keepConsuming(), position.keepWatching(whenUp, stopping.signal)]);

  return {
    durable,
    replay: async (subject, stored) => {
      if (!isEventSubject(subject) || !isOneOf(subject, subjects))
        throw new Error(`${durable} does not consume ${subject}`);
      await options.handleBatch([decodeEvent(subject, stored)]);
    },
    pending: () => countPending(progress),
    oldestPending: () => oldestPending(progress),
    whenCaughtUp: ({ timeoutMs, signal = stopping.signal }) => {
      const calm = pacer.hurry();
      return caughtUp(progress, { timeoutMs, signal }).finally(calm);
    },
    failing: () => holdings.snapshot().parked.size,
    endIfCaughtUp: ({ timeoutMs, signal = stopping.signal }) =>
      endIfCaughtUp(progress, { timeoutMs, signal }),
    streamEnd: ({ timeoutMs, signal = stopping.signal }) => streamEnd(progress, { timeoutMs, signal }),
    stop: async () => {
      stopping.abort();
      observed.stop();
      await running;
    },
  };
}

/** Shared by the parts of one consumer. */
interface Work<Subject extends EventSubject> extends ConsumerOptions<Subject> {
  holdings: Holdings;
  pacer: Pacer;
  observed: HandlingCounts;
  /**
   * Failed attempts by position in the stream. The server's count of deliveries also grows when the connection or the process
   * is replaced, so it is not the number of failures.
   */
  failures: Map<number, number>;
}

/** Consumes until the signal, the loss of the connection, or the loss of the consumer on the server. */
async function consume<Subject extends EventSubject>(
  consumer: JetStreamConsumer,
  options: Work<Subject>,
  stopping: AbortSignal,
): Promise<void> {
  const { connection, maxBatch = 100 } = options;
  const bell = createBell();
  const ended = new AbortController();
  const signal = AbortSignal.any([stopping, ended.signal]);
  signal.addEventListener('abort', bell.ring);
  // A pull does not survive the connection reliably; a new one costs one request.
  const unsubscribe = connection.onChange((isUp) => !isUp && ended.abort());

  const waiting: JsMsg[] = [];
  let batch: JsMsg[] = [];
  const messages = await consumer.consume({
    max_messages: MAX_ACK_PENDING,
    abort_on_missing_resource: true,
    callback: (message) => {
      options.holdings.take(message.info.streamSequence);
      waiting.push(message);
      bell.ring();
    },
  });
  const closed = messages.closed().then((error) => {
    ended.abort();
    return error;
  });
  const keepAlive = setInterval(() => {
    for (const message of [...batch, ...waiting]) message.working();
  }, ACK_WAIT_MS / 3);

  try {
    while (!signal.aborted) {
      if (waiting.length === 0) await bell.heard();
      await options.pacer.turn(signal);
      batch = waiting.splice(0, maxBatch);
      await settle(batch, options, signal);
      options.holdings.release(batch.map(({ info }) => info.streamSequence));
      batch = [];
    }
  } finally {
    unsubscribe();
    clearInterval(keepAlive);
    await messages.close();
    for (const message of waiting) message.nak();
    options.holdings.releaseAll();
  }
  const error = await closed;
  if (error instanceof Error && !stopping.aborted) throw error;
}

/**
 * Acknowledges every message of a batch: done, retry later, or never. Unacknowledged ones are redelivered.
 */
async function settle<Subject extends EventSubject>(
  batch: readonly JsMsg[],
  options: Work<Subject>,
  signal: AbortSignal,
): Promise<void> {
  const fresh: Delivery<Subject>[] = [];
  const repeated: Delivery<Subject>[] = [];
  for (const message of batch) {
    const { subject } = message;
    if (!isEventSubject(subject) || !isOneOf(subject, options.subjects)) {
      message.ack();
      continue;
    }
    try {
      const delivery = { message, event: decodeEvent(subject, encodedIn(message)) };
      (message.info.deliveryCount > 1 ? repeated : fresh).push(delivery);
    } catch (error) {
      await giveUp(message, error, options);
    }
  }
  // An event that failed before does not spoil a batch again.
  await settleTogether(fresh, options, signal);
  for (const delivery of repeated) await settleTogether([delivery], options, signal);
}

interface Delivery<Subject extends EventSubject> {
  message: JsMsg;
  event: ReceivedEvent<Subject>;
}

async function settleTogether<Subject extends EventSubject>(
  deliveries: readonly Delivery<Subject>[],
  options: Work<Subject>,
  signal: AbortSignal,
): Promise<void> {
  const [first] = deliveries;
  if (first === undefined) return;
  const error = await handle(deliveries, options, signal);
  if (error === undefined) {
    for (const { message } of deliveries) {
      message.ack();
      options.failures.delete(message.info.streamSequence);
    }
    options.observed.events('done', deliveries.length);
  } else if (signal.aborted) {
    for (const { message } of deliveries) message.nak();
  } else if (deliveries.length > 1) {
    options.logger.warn(
      { err: error, durable: options.durable, events: deliveries.length },
      'batch failed, trying one by one',
    );
    for (const delivery of deliveries) await settleTogether([delivery], options, signal);
  } else {
    await retryOrGiveUp(first.message, error, options);
  }
}

/** Runs the handler and waits while failures are transient. Returns the error otherwise. */
async function handle<Subject extends EventSubject>(
  deliveries: readonly Delivery<Subject>[],
  { handleBatch, durable, logger, observed }: Work<Subject>,
  signal: AbortSignal,
): Promise<unknown> {
  const events = deliveries.map(({ event }) => event);
  const causes = events.map(({ traceHeaders }) => traceHeaders);
  const attributes = {
    'messaging.system': 'nats',
    'messaging.operation.type': 'process',
    'messaging.consumer.group.name': durable,
    'messaging.batch.message_count': events.length,
  };
  for (let failures = 1; ; failures += 1) {
    const ended = observed.begin();
    try {
      await withCauses(causes, `consume ${durable}`, { attributes }, () => handleBatch(events));
      ended('done');
      return undefined;
    } catch (error) {
      ended('failed');
      const thrown = error ?? new Error('the handler threw nothing');
      if (!isTransient(thrown) || signal.aborted) return thrown;
      if (failures === 1) logger.warn({ err: thrown, durable }, 'consumer waits for something it needs');
      await pause(backOffMs(failures), signal);
      if (signal.aborted) return thrown;
    }
  }
}

async function retryOrGiveUp<Subject extends EventSubject>(
  message: JsMsg,
  error: unknown,
  options: Work<Subject>,
): Promise<void> {
  const { durable, logger, retryDelaysMs = RETRY_DELAYS_MS } = options;
  const { streamSequence } = message.info;
  const earlier = options.failures.get(streamSequence) ?? 0;
  const delayMs = retryDelaysMs[earlier];
  if (delayMs === undefined) {
    options.failures.delete(streamSequence);
    return giveUp(message, error, options);
  }
  options.failures.set(streamSequence, earlier + 1);
  logger.warn(
    { err: error, durable, event: eventIdOf(message), subject: message.subject, delayMs },
    'event failed, trying later',
  );
  options.observed.events('retried', 1);
  options.holdings.park(message.info.streamSequence, delayMs);
  message.nak(delayMs);
}

async function giveUp<Subject extends EventSubject>(
  message: JsMsg,
  error: unknown,
  { durable, logger, database, observed, retryDelaysMs = RETRY_DELAYS_MS }: Work<Subject>,
): Promise<void> {
  try {
    await keepDeadLetter(database, durable, message, reasonOf(error));
    observed.events('dead', 1);
    logger.error(
      { err: error, durable, event: eventIdOf(message), subject: message.subject },
      'event is a dead letter',
    );
    // Without the reason: servers before 2.10 would not understand it.
    message.term();
  } catch (cause) {
    // Never dropped without having been kept.
    logger.error(
      { err: cause, durable, event: eventIdOf(message) },
      'dead letter could not be kept, trying later',
    );
    message.nak(retryDelaysMs[0] ?? 1_000);
  }
}

function isOneOf<Subject extends EventSubject>(
  subject: EventSubject,
  subjects: readonly Subject[],
): subject is Subject {
  return (subjects as readonly EventSubject[]).includes(subject);
}
