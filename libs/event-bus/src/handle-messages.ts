import type { EventSubject } from '@kr/contracts';
import type { Sql } from '@kr/database';
import { isTransient } from '@kr/service-error';
import { type Logger, withCauses } from '@kr/telemetry';
import type { JsMsg } from '@nats-io/jetstream';
import type { BusConnection } from './bus-connection.ts';
import { decodeEvent, encodedIn, eventIdOf, type ReceivedEvent } from './cloud-event.ts';
import { insertDeadLetter, reasonOf } from './dead-letters.ts';
import type { EventsInFlight } from './events-in-flight.ts';
import type { HandlingCounts } from './observe-consumer.ts';
import { backOffMs, pause } from './waiting.ts';

export interface ConsumerOptions<Subject extends EventSubject> {
  connection: BusConnection;
  /** `<service>-<what it does>`: the position in the stream belongs to this name, for ever. */
  durable: string;
  subjects: readonly Subject[];
  /**
   * Applies all events or, by throwing, none. Called again with the same events after a failure, and with events out of
   * order or twice: compare revisions.
   */
  handleBatch: (events: ReceivedEvent<Subject>[]) => Promise<void>;
  /**
   * Rebuilds what the events of this consumer change, without the events, after the stream has dropped some that were not
   * handled. May run twice. The consumer continues meanwhile.
   */
  recover: () => Promise<void>;
  /** Has the tables of dead letters and of the consumer's position. */
  database: Sql;
  logger: Logger;
  /**
   * Milliseconds between the starts of two batches, so that the events of a busy period are handled together (default 0).
   * Nothing is delayed while a caller waits in `whenCaughtUp`.
   */
  batchEveryMs?: number;
}

/** Shared by all batches of one consumer. */
export interface Handling<Subject extends EventSubject> extends ConsumerOptions<Subject> {
  /** Milliseconds before an event is retried by itself, one per failure; after the last it is a dead letter. */
  retryDelaysMs: readonly number[];
  inFlight: EventsInFlight;
  observed: HandlingCounts;
  /**
   * Failed attempts by position in the stream. The server's count of deliveries also grows when the connection or the process
   * is replaced, so it is not the number of failures.
   */
  failures: Map<number, number>;
}

interface Delivery<Subject extends EventSubject> {
  message: JsMsg;
  event: ReceivedEvent<Subject>;
}

/** Acknowledges every message of a batch: done, retry later, or never. Unacknowledged ones are redelivered. */
export async function handleMessages<Subject extends EventSubject>(
  batch: readonly JsMsg[],
  options: Handling<Subject>,
  signal: AbortSignal,
): Promise<void> {
  const fresh: Delivery<Subject>[] = [];
  const repeated: Delivery<Subject>[] = [];
  for (const message of batch) {
    const subject = options.subjects.find((one) => one === message.subject);
    if (subject === undefined) {
      // Delivered before the subjects of the consumer were changed.
      message.ack();
      continue;
    }
    try {
      const event = decodeEvent(subject, encodedIn(message));
      (message.info.deliveryCount > 1 ? repeated : fresh).push({ message, event });
    } catch (error) {
      await storeAsDeadLetter(message, error, options);
    }
  }
  // An event that failed before does not spoil a batch again.
  await handleTogether(fresh, options, signal);
  for (const delivery of repeated) await handleTogether([delivery], options, signal);
}

async function handleTogether<Subject extends EventSubject>(
  deliveries: readonly Delivery<Subject>[],
  options: Handling<Subject>,
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
    for (const delivery of deliveries) await handleTogether([delivery], options, signal);
  } else {
    await retryOrStore(first.message, error, options);
  }
}

/** Runs the handler and waits while failures are transient. Returns the error otherwise. */
async function handle<Subject extends EventSubject>(
  deliveries: readonly Delivery<Subject>[],
  { handleBatch, durable, logger, observed }: Handling<Subject>,
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
      if (failures === 1)
        logger.warn({ err: thrown, durable }, 'the consumer waits for an unavailable dependency');
      await pause(backOffMs(failures), signal);
      if (signal.aborted) return thrown;
    }
  }
}

async function retryOrStore<Subject extends EventSubject>(
  message: JsMsg,
  error: unknown,
  options: Handling<Subject>,
): Promise<void> {
  const { durable, logger, retryDelaysMs, failures, inFlight, observed } = options;
  const { streamSequence } = message.info;
  const earlier = failures.get(streamSequence) ?? 0;
  const delayMs = retryDelaysMs[earlier];
  if (delayMs === undefined) {
    failures.delete(streamSequence);
    return storeAsDeadLetter(message, error, options);
  }
  failures.set(streamSequence, earlier + 1);
  logger.warn(
    { err: error, durable, event: eventIdOf(message), subject: message.subject, delayMs },
    'event failed, retrying later',
  );
  observed.events('retried', 1);
  inFlight.defer(streamSequence, delayMs);
  message.nak(delayMs);
}

async function storeAsDeadLetter<Subject extends EventSubject>(
  message: JsMsg,
  error: unknown,
  { durable, logger, database, observed, retryDelaysMs }: Handling<Subject>,
): Promise<void> {
  const context = { durable, event: eventIdOf(message), subject: message.subject };
  try {
    await insertDeadLetter(database, durable, message, reasonOf(error));
    observed.events('dead', 1);
    logger.error({ err: error, ...context }, 'event is a dead letter');
    message.term();
  } catch (cause) {
    // Without a stored copy the event must stay in the stream.
    logger.error({ err: cause, ...context }, 'dead letter could not be stored, retrying');
    message.nak(retryDelaysMs[0] ?? 1_000);
  }
}
