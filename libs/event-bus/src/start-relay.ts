import type { Sql } from '@kr/database';
import { failpoint } from '@kr/failpoint';
import type { Logger } from '@kr/telemetry';
import { Client } from 'pg';
import type { BusConnection } from './bus-connection.ts';
import { type OutboxObserver, observeOutbox } from './observe-outbox.ts';
import { createPublisher, type Publisher } from './outbox-publisher.ts';
import { createOutboxReader, type OutboxReader } from './outbox-reader.ts';
import { createSignal, type Signal } from './signal.ts';
import { createThrottle, type Throttle } from './throttle.ts';
import { backOffMs, endOf, pause, pollUntil, type Wait, waitAtMost } from './waiting.ts';

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

const BATCH = 200;
const STANDBY_MS = 1_000;
/** A leader that waits for the bus keeps its session alive at this interval. */
const HEARTBEAT_MS = 1_000;
const DELETE_EVERY_MS = 3_600_000;
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
  const { signal } = stopping;
  const relaying = { publisher, nudged, throttle, marked, observed, logger, pollMs, signal };

  const relayUntilStopped = async () => {
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
        await relayOutbox({ ...relaying, reader });
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
  const running = relayUntilStopped().finally(() => publisher.close());

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
  observed: OutboxObserver;
  logger: Logger;
  pollMs: typeof TIMING.pollMs;
  signal: AbortSignal;
}

/** Sends batch after batch and waits while there is nothing. Ends with the signal or with the database connection. */
async function relayOutbox(relaying: Relaying): Promise<void> {
  const { reader, publisher, nudged, throttle, marked, observed, logger, pollMs, signal } = relaying;
  let failures = 0;
  let nextPollMs = pollMs.busy;
  let nextDeletionAt = 0;
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
      observed.count(rows, published);
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
    if (Date.now() >= nextDeletionAt) {
      nextDeletionAt = Date.now() + DELETE_EVERY_MS;
      await reader.deletePublished(signal);
    }
    const isNudged = await nudged.wait(seen, { ms: nextPollMs, signal });
    nextPollMs = isNudged ? pollMs.busy : Math.min(pollMs.idle, nextPollMs * 2);
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

// Each reads one end of the index of unpublished rows, so the length of the outbox does not matter.
const NEWEST = 'select max(id)::text as id from outbox where published_at is null';
const REMAINING =
  'select exists(select from outbox where published_at is null and id <= $1::bigint) as remain';

/**
 * Whether all rows that are visible now are marked as published within the timeout. It also waits for rows with lower ids
 * that are committed meanwhile, but not for higher ids.
 */
async function outboxSent(
  database: Sql,
  { nudge, marked }: { nudge: () => void; marked: Signal },
  wait: Wait,
): Promise<boolean> {
  const ending = endOf(wait);
  const [newest] = await database.$queryRawUnsafe<{ id: string | null }[]>(NEWEST);
  const id = newest?.id ?? null;
  if (id === null) return true;
  nudge();
  const isSent = async () => {
    const [left] = await database.$queryRawUnsafe<{ remain: boolean }[]>(REMAINING, id);
    return left?.remain === false;
  };
  return pollUntil(isSent, marked, ending);
}
