import { randomBytes } from 'node:crypto';
import { ServiceError } from '@kr/service-error';
import type { Transaction } from '../engine/search-engine.ts';
import { openPool } from '../open-pool.ts';

/** A complete index, or one that is being built. */
export interface Generation {
  engine: string;
  layout: number;
  id: string;
}

/** Which generations there are. */
export interface IndexStateRow {
  /** The one that searches use; null before the first. */
  live: Generation | null;
  /** Whether the live one was built from the services completely. */
  isFilled: boolean;
  /** The id of the one that is being built, with the same engine and layout; null if there is none. */
  building: string | null;
}

/** The state of the index in the service's own database, for any engine. */
export interface IndexState {
  read(): Promise<IndexStateRow>;
  /** Runs work in a transaction that only one writer of all processes has at a time. */
  transact<Result>(work: (tx: Transaction, state: IndexStateRow) => Promise<Result>): Promise<Result>;
  stop(): Promise<void>;
}

/**
 * Limits of one writer, so that others are not blocked for ever by a process that hangs, or by a database that does not
 * answer. The transaction is idle during requests to Elasticsearch, of which each may take two minutes.
 */
const WRITER_LIMITS = {
  lock_timeout: 30_000,
  statement_timeout: 60_000,
  // Later than the database itself, whose error is more exact.
  query_timeout: 70_000,
  idle_in_transaction_session_timeout: 300_000,
};

/** Any number, the same for all writers. */
const WRITER_LOCK = 7_160_051;

const READ = 'SELECT engine, layout, generation, filled_at, building FROM index_state';

interface StateColumns {
  engine: string | null;
  layout: number | null;
  generation: string | null;
  filled_at: Date | null;
  building: string | null;
}

export interface IndexStateOptions {
  databaseUrl: string;
  /** Milliseconds that a reader waits. */
  timeoutMs: number;
}

export function openIndexState({ databaseUrl, timeoutMs }: IndexStateOptions): IndexState {
  // Without statistics of new generations the planner would scan whole tables.
  const writers = openPool({
    ...WRITER_LIMITS,
    connectionString: databaseUrl,
    max: 4,
    options: '-c enable_seqscan=off',
  });
  // Separate, because searches do not wait for writers.
  const readers = openPool({
    connectionString: databaseUrl,
    max: 2,
    statement_timeout: timeoutMs,
    query_timeout: timeoutMs,
    connectionTimeoutMillis: timeoutMs,
  });
  return {
    read: async () => {
      const { rows } = await readers.query<StateColumns>(READ);
      return stateOf(rows[0]);
    },
    transact: async (work) => {
      const client = await writers.connect();
      try {
        await client.query(`BEGIN; SELECT pg_advisory_xact_lock(${WRITER_LOCK})`);
        const { rows } = await client.query<StateColumns>({ name: 'index-state', text: READ });
        const result = await work(client, stateOf(rows[0]));
        await client.query('COMMIT');
        client.release();
        return result;
      } catch (error) {
        // The connection is closed rather than rolled back: it may be why the transaction failed.
        client.release(true);
        throw error;
      }
    },
    stop: async () => {
      await Promise.all([writers.end(), readers.end()]);
    },
  };
}

function stateOf(row: StateColumns | undefined): IndexStateRow {
  if (row === undefined) throw new Error('the state of the index is missing');
  const { engine, layout, generation: id, filled_at, building } = row;
  const live = engine === null || layout === null || id === null ? null : { engine, layout, id };
  return { live, isFilled: filled_at !== null, building };
}

/** An id that sorts after those in use, although the clocks of processes differ. As `GENERATION_ID`. */
export function newGenerationId({ live, building }: IndexStateRow): string {
  const time = Math.max(Date.now(), timeAfter(live?.id), timeAfter(building));
  return `${time.toString(36).padStart(8, '0')}${randomBytes(RANDOM_BYTES).toString('hex')}`;
}

const RANDOM_BYTES = 3;

function timeAfter(id: string | null | undefined): number {
  return id == null ? 0 : Number.parseInt(id.slice(0, -2 * RANDOM_BYTES), 36) + 1;
}

/** @param id null: no generation is being built */
export async function setBuilding(tx: Transaction, id: string | null): Promise<void> {
  await tx.query('UPDATE index_state SET building = $1', [id]);
}

/** Makes a generation the live one. */
export async function setLive(tx: Transaction, live: Generation, isFilled: boolean): Promise<void> {
  await tx.query(
    `UPDATE index_state SET engine = $1, layout = $2, generation = $3, building = NULL,
       filled_at = CASE WHEN $4 THEN now() END`,
    [live.engine, live.layout, live.id, isFilled],
  );
}

/** The error in a process whose engine or release cannot use the live generation. */
export function liveElsewhere(): ServiceError {
  return new ServiceError('unavailable', 'Another index is in use now.', { retryAfterMs: 1_000 });
}
