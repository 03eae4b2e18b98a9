import type { Sql } from '@kr/database';
import { failpoint } from '@kr/failpoint';
import type { Logger } from '@kr/telemetry';
import { Client } from 'pg';
import { type Bell, createBell } from './bell.ts';
import type { BusConnection } from './bus-connection.ts';

import { createNews, type News, type Wait } from './news.ts';
import { observeOutbox, type SendCounts } from './observe-outbox.ts';
import { createPublisher, type Publisher } from './outbox-publisher.ts';
import { createOutboxReader, type OutboxReader, type OutboxRow } from './outbox-reader.ts';
import { outboxSent } from './outbox-sent.ts';
import { createPacer, type Pacer } from './pacer.ts';
import { backOffMs, pause, waitAtMost } from './pause.ts';

export interface RelayOptions {
  /** The database whose outbox is relayed; a direct connection, because the lock belongs to the session. */
  databaseUrl: string | URL;
  natsConnection: BusConnection;
  /** The service that emits, as `ce-source`. */
  source: string;
  logger: Logger;
  /**
   * Milliseconds between the starts of two rounds, so that the events of a busy period are sent
   * together (default 20). Nothing is delayed while a caller waits.
   */
  roundEveryMs?: number;
  /**
   * Milliseconds of silence (default 3000) after which the database ends the session of a frozen or unreachable relay, and
   * another relay takes over.
   */
  silenceMs?: number;
  /**
   * Milliseconds between two polls of the outbox without a nudge, which find events written by other replicas: right after
   * an event was sent, and the maximum (default 100 and 500). Less than `silenceMs`, because polls keep the session alive.
   */
  pollMs?: { busy: number; idle: number };
}

export interface Relay {
  /** Reports a commit; the relay polls as soon as it may. Cheap, may be called at any time. */
  nudge(): void;
  /**
   * Whether everything that was committed before the call is in the stream within the time; answers as soon as it is.
   * Whichever process sends it counts.
   */
  whenSent(database: Sql, wait: Wait): Promise<boolean>;
  /** Finishes what is being sent, within two seconds, and disconnects. May be called twice. */
  stop(): Promise<void>;
}

const BATCH = 200;
/** A round costs two statements however many events it sends. */
const ROUND_EVERY_MS = 20;
const POLL_MS = { busy: 100, idle: 500 };
const STANDBY_MS = 1_000;
/** A leader that waits for the bus keeps its session alive at this interval. */
const BEAT_MS = 1_000;
const SILENCE_MS = 3_000;
const SWEEP_EVERY_MS = 3_600_000;
const STOP_GRACE_MS = 2_000;

/**
 * Sends the outbox to the stream: every committed event at least once, and once within the stream's duplicate window.
 * Of all relays on one database one is active; another takes over within five seconds. Retries without limit, with back-off; no
 * write ever waits for it.
 */
export function startRelay(options: RelayOptions): Relay {
  const { databaseUrl, natsConnection, source, logger } = options;
  const { roundEveryMs = ROUND_EVERY_MS, silenceMs = SILENCE_MS, pollMs = POLL_MS } = options;
  const stopping = new AbortController();
  const bell = createBell();
  const pacer = createPacer(roundEveryMs, Date.now);
  stopping.signal.addEventListener('abort', bell.ring);
  const publisher = createPublisher(natsConnection, source, bell.ring);
  const flagged = createNews();
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
          bell,
          pacer,
          flagged,
          observed,
          logger,
          pollMs,
          signal: stopping.signal,
        });
      } catch (error) {
        failures += 1;
        if (!stopping.signal.aborted)
          logger.warn({ err: error, failures }, 'relay lost its database, trying on');
      } finally {
        await client.end().catch(() => {});
      }
      if (failures > 0) await pause(backOffMs(failures), stopping.signal);
    }
  };
  const running = keepRelaying().finally(() => publisher.close());

  return {
    nudge: bell.ring,
    whenSent: (database, wait) => {
      const calm = pacer.hurry();
      return outboxSent(database, { nudge: bell.ring, flagged }, wait).finally(calm);
    },
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

interface Work {
  reader: OutboxReader;
  publisher: Publisher;
  bell: Bell;
  pacer: Pacer;
  /** Announced when rows were flagged. */
  flagged: News;
  observed: SendCounts;
  logger: Logger;
  pollMs: { busy: number; idle: number };
  signal: AbortSignal;
}

/** Sends batch after batch, sleeping while there is nothing. Ends with the signal or with the database connection. */
async function relayOutbox({
  reader,
  publisher,
  bell,
  pacer,
  flagged,
  observed,
  logger,
  pollMs,
  signal,
}: Work): Promise<void> {
  let failures = 0;
  let nextPollMs = pollMs.busy;
  let nextSweepAt = 0;
  while (!signal.aborted) {
    await pacer.turn(signal);
    const rows = await reader.unpublished(BATCH);
    if (rows.length > 0 || publisher.isUnsure()) {
      nextPollMs = pollMs.busy;
      if (rows.length > 0) await failpoint('outbox.send.before');
      const { published, error, streamCreated } = await whileBeating(reader, publisher.publish(rows, signal));
      tell(observed, rows, published);
      await reader.markPublished(published);
      if (published.length > 0) flagged.announce();
      const lost = streamCreated === undefined ? 0 : await reader.noteStream(streamCreated);
      if (lost > 0)
        logger.warn({ events: lost }, 'the stream is a new one, sending again what the lost one held');
      if (error === undefined) {
        failures = 0;
      } else if (!signal.aborted) {
        failures = published.length > 0 ? 1 : failures + 1;
        logger.warn(
          { err: error, waiting: rows.length - published.length, failures },
          'events could not be sent, trying on',
        );
        await whileBeating(reader, pause(backOffMs(failures), signal));
      }
      // Of a part of a batch nothing is left; what is committed meanwhile has rung.
      if (error !== undefined || lost > 0 || rows.length === BATCH) continue;
    }
    if (Date.now() >= nextSweepAt) {
      nextSweepAt = Date.now() + SWEEP_EVERY_MS;
      await reader.sweep(signal);
    }
    nextPollMs = (await bell.heard(nextPollMs)) ? pollMs.busy : Math.min(pollMs.idle, nextPollMs * 2);
  }
}

function tell(observed: SendCounts, rows: readonly OutboxRow[], published: readonly string[]): void {
  const sent = new Set(published);
  for (const { id, subject } of rows) {
    if (sent.has(id)) observed.sent(subject);
    else observed.failed();
  }
}

/** The result of `work`, which must not fail. @throws Error when the database is lost meanwhile */
async function whileBeating<Result>(reader: OutboxReader, work: Promise<Result>): Promise<Result> {
  let isOver = false;
  const ending = work.then(() => {
    isOver = true;
  });
  for (;;) {
    await waitAtMost(BEAT_MS, ending);
    if (isOver) return work;
    await reader.beat();
  }
}
