import type { Sql } from '@kr/database';
import { failpoint } from '@kr/failpoint';
import type { Logger } from '@kr/telemetry';
import { Client } from 'pg';
import type { BusConnection } from './bus-connection.ts';
import { observeOutbox, type SendCounts } from './observe-outbox.ts';
import { createPublisher, type Publisher } from './outbox-publisher.ts';
import { createOutboxReader, type OutboxReader, type OutboxRow } from './outbox-reader.ts';
import { outboxSent } from './outbox-sent.ts';
import { createSignal, type Signal } from './signal.ts';
import { createThrottle, type Throttle } from './throttle.ts';
import { backOffMs, pause, type Wait, waitAtMost } from './waiting.ts';

export interface RelayOptions {
  /** The database whose outbox is relayed; a direct connection, because the lock belongs to the session. */
  databaseUrl: string | URL;
  natsConnection: BusConnection;
  /** The service that emits, as `ce-source`. */
  source: string;
  logger: Logger;
}

export interface Relay {
  /** Reports a commit; the relay polls as soon as it may. Cheap, may be called at any time. */
  nudge(): void;
  /**
   * Whether everything that was committed before the call is in the stream within the timeout, sent by any process.
   * Resolves as soon as it is.
   */
  whenSent(database: Sql, wait: Wait): Promise<boolean>;
  /** Finishes the current batch, within two seconds, and disconnects. May be called twice. */
  stop(): Promise<void>;
}

export const TIMING = {
  /**
   * Milliseconds between the starts of two rounds, so that the events of a busy period are sent together: a round costs two
   * statements for any number of events. Nothing is delayed while a caller waits.
   */
  roundEveryMs: 20,
  /** The database ends the session of a relay that was silent for so long (frozen, unreachable), and another takes over. */
  silenceMs: 3_000,
  /**
   * Milliseconds between two polls without a nudge, which find events written by other replicas: right after an event was
   * sent, and the maximum. Less than `silenceMs`, because polls keep the session alive.
   */
  pollMs: { busy: 100, idle: 500 },
};

export type RelayTiming = typeof TIMING;

const BATCH = 200;
const STANDBY_MS = 1_000;
/** A leader that waits for the bus keeps its session alive at this interval. */
const HEARTBEAT_MS = 1_000;
const SWEEP_EVERY_MS = 3_600_000;
const STOP_GRACE_MS = 2_000;

/**
 * Sends the outbox to the stream: every committed event at least once, and once within the stream's duplicate window.
 * Of all relays on one database one is active; another takes over within five seconds. Retries without limit, with back-off; no
 * write ever waits for it.
 */
export function startRelay(options: RelayOptions, { roundEveryMs, silenceMs, pollMs } = TIMING): Relay {
  const { databaseUrl, natsConnection, source, logger } = options;
  const stopping = new AbortController();
  const nudged = createSignal();
  const throttle = createThrottle(roundEveryMs, Date.now);
  const publisher = createPublisher(natsConnection, source, nudged.notify);
  const marked = createSignal();
  let session: Client | undefined;
  const observed = observeOutbox(() => session, logger);

  const keepRelaying = async () => {
    for (let failures = 0; !stopping.signal.aborted; ) {
      const client = new Client({
        connectionString: String(databaseUrl),
        application_name: `relay ${source} ${process.pid}`,
        keepAlive: true,
        connectionTimeoutMillis: 5_000,
        query_timeout: 30_000,
        options: sessionEndedBySilence(silenceMs),
      });
      // A lost connection fails the next query; without a listener the event would end the process.
      client.on('error', () => {});
      session = client;
      try {
        await client.connect();
        const reader = createOutboxReader(client);
        failures = 0;
        await standBy(reader, stopping.signal);
        await relayOutbox({
          reader,
          publisher,
          nudged,
          throttle,
          marked,
          observed,
          logger,
          pollMs,
          signal: stopping.signal,
        });
      } catch (error) {
        failures += 1;
        if (!stopping.signal.aborted)
          logger.warn({ err: error, failures }, 'relay lost its database, retrying');
      } finally {
        await client.end().catch(() => {});
      }
      if (failures > 0) await pause(backOffMs(failures), stopping.signal);
    }
  };
  const running = keepRelaying().finally(() => publisher.close());

  return {
    nudge: nudged.notify,
    whenSent: (database, wait) =>
      throttle.bypass(() => outboxSent(database, { nudge: nudged.notify, marked }, wait)),
    stop: async () => {
      stopping.abort();
      observed.stop();
      await waitAtMost(STOP_GRACE_MS, running);
      // Events in flight at that time are sent again by the next relay and dropped as duplicates.
      await session?.end().catch(() => {});
    },
  };
}

function sessionEndedBySilence(silenceMs: number): string {
  const settings = [
    // If a crash of the database loses a flag, the event is sent twice.
    'synchronous_commit=off',
    `idle_session_timeout=${silenceMs}`,
    `idle_in_transaction_session_timeout=${silenceMs}`,
    // Ends sessions that leave a response unread.
    `tcp_user_timeout=${silenceMs}`,
  ];
  return settings.map((setting) => `-c ${setting}`).join(' ');
}

/** Waits until this relay is the active one. */
async function standBy(reader: OutboxReader, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && !(await reader.tryToLead())) {
    await pause(STANDBY_MS * (0.8 + 0.4 * Math.random()), signal);
  }
}

interface Relaying {
  reader: OutboxReader;
  publisher: Publisher;
  nudged: Signal;
  throttle: Throttle;
  /** Notified when rows were marked as published. */
  marked: Signal;
  observed: SendCounts;
  logger: Logger;
  pollMs: typeof TIMING.pollMs;
  signal: AbortSignal;
}

/** Sends batch after batch and waits while there is nothing. Ends with the signal or with the database connection. */
async function relayOutbox(relaying: Relaying): Promise<void> {
  const { reader, publisher, nudged, throttle, marked, observed, logger, pollMs, signal } = relaying;
  let failures = 0;
  let nextPollMs = pollMs.busy;
  let nextSweepAt = 0;
  while (!signal.aborted) {
    await throttle.acquire(signal);
    const seen = nudged.count;
    const rows = await reader.unpublished(BATCH);
    if (rows.length > 0 || publisher.isUnsure()) {
      nextPollMs = pollMs.busy;
      if (rows.length > 0) await failpoint('outbox.send.before');
      const { published, error, streamCreated } = await withHeartbeat(
        reader,
        publisher.publish(rows, signal),
      );
      countSent(observed, rows, published);
      await reader.markPublished(published);
      if (published.length > 0) marked.notify();
      const lost = streamCreated === undefined ? 0 : await reader.noteStream(streamCreated);
      if (lost > 0)
        logger.warn({ events: lost }, 'the stream is new, sending the events of the lost one again');
      if (error === undefined) {
        failures = 0;
      } else if (!signal.aborted) {
        failures = published.length > 0 ? 1 : failures + 1;
        logger.warn(
          { err: error, waiting: rows.length - published.length, failures },
          'events could not be sent, retrying',
        );
        await withHeartbeat(reader, pause(backOffMs(failures), signal));
      }
      // A batch that was not full drained the outbox; later commits have sent a notification.
      if (error !== undefined || lost > 0 || rows.length === BATCH) continue;
    }
    if (Date.now() >= nextSweepAt) {
      nextSweepAt = Date.now() + SWEEP_EVERY_MS;
      await reader.sweep(signal);
    }
    const isNudged = await nudged.wait(seen, { ms: nextPollMs, signal });
    nextPollMs = isNudged ? pollMs.busy : Math.min(pollMs.idle, nextPollMs * 2);
  }
}

function countSent(observed: SendCounts, rows: readonly OutboxRow[], published: readonly string[]): void {
  const sent = new Set(published);
  for (const { id, subject } of rows) {
    if (sent.has(id)) observed.sent(subject);
    else observed.failed();
  }
}

/** Returns the result of `work`, which must not fail. @throws Error when the database connection is lost meanwhile */
async function withHeartbeat<Result>(reader: OutboxReader, work: Promise<Result>): Promise<Result> {
  let isOver = false;
  const ending = work.then(() => {
    isOver = true;
  });
  for (;;) {
    await waitAtMost(HEARTBEAT_MS, ending);
    if (isOver) return work;
    await reader.heartbeat();
  }
}
