import pg from 'pg';
import { openPool } from '../../open-pool.ts';
import type { Deadline } from '../deadline.ts';
import { GENERATION_ID, type SearchEngine, searchTimeout } from '../search-engine.ts';
import { type EncodedRow, encodeRow } from './encode-row.ts';
import { searchRunner } from './run-search.ts';
import { execute, readHeads, readStates, useSchema } from './stored-rows.ts';
import { runSuggest } from './suggest.ts';
import {
  INDEXES,
  LAYOUT,
  RESET_BULK_SETTINGS,
  SCHEMA_PREFIX,
  schemaOf,
  TABLE_NAMES,
  TABLES,
} from './tables.ts';
import { type TimedQueries, timedQueries } from './timed-queries.ts';

export interface PostgresEngineOptions {
  /** The service's own database. */
  databaseUrl: string;
  /** The time limit of one search in the database, in milliseconds. */
  searchTimeoutMs: number;
  /** Connections for searches; a build has one, and other reads two. */
  maxConnections: number;
}

/**
 * Compiling to machine code and starting parallel workers cost more than these statements. Hash tables of one search
 * stay in memory. The planner underestimates sequential scans for common words, because it
 * ignores that terms are stored out of line.
 */
export const READING = settings({
  jit: 'off',
  max_parallel_workers_per_gather: 0,
  work_mem: '32MB',
  enable_seqscan: 'off',
});

/** While there are searches, a build uses one processor at a time, and VACUUM pauses for about half of the time. */
const BUILDING = settings({ vacuum_cost_delay: '1ms', vacuum_cost_limit: 2_000 });
/** To sort the entries of one index at a time. */
const SORTING_MEMORY = '256MB';

function settings(values: Readonly<Record<string, string | number>>): string {
  return Object.entries(values)
    .map(([setting, value]) => `-c ${setting}=${value}`)
    .join(' ');
}

/** The longest statement about the state of the index counts all documents. */
const STATE_TIMEOUT_MS = 60_000;

/** SQLSTATE query_canceled. */
const QUERY_CANCELED = '57014';
/** Errors of the pool when no connection is free in time, and when opening one takes too long. */
const NO_CONNECTION =
  /^(?:timeout exceeded when trying to connect|Connection terminated due to connection timeout)/;

/** Full-text search in Postgres: the terms of a document are in one tsvector, a generation is a schema. */
export function postgresEngine({
  databaseUrl,
  searchTimeoutMs,
  maxConnections,
}: PostgresEngineOptions): SearchEngine<EncodedRow> {
  const readers = openPool({
    connectionString: databaseUrl,
    max: maxConnections,
    statement_timeout: searchTimeoutMs,
    connectionTimeoutMillis: searchTimeoutMs,
    options: READING,
  });
  // Separate, so that neither writers nor searches delay the state that operators see.
  const states = openPool({
    connectionString: databaseUrl,
    max: 2,
    statement_timeout: STATE_TIMEOUT_MS,
    query_timeout: STATE_TIMEOUT_MS,
    options: settings({ enable_seqscan: 'off' }),
  });
  const builders = openPool({ connectionString: databaseUrl, max: 1, options: BUILDING });
  const runSearch = searchRunner();
  const timed = (deadline: Deadline): TimedQueries =>
    timedQueries({ pool: readers, poolTimeoutMs: searchTimeoutMs }, deadline);

  return {
    name: 'postgres',
    layout: LAYOUT,
    encode: encodeRow,
    search: (generation, search, deadline) =>
      runSearch(timed(deadline), schemaOf(generation), search).catch(fail),
    suggest: (generation, suggest, deadline) =>
      runSuggest(timed(deadline), schemaOf(generation), suggest).catch(fail),
    heads: (generation, about, write) => readHeads(write?.tx ?? states, generation, about),
    states: (generation, filter, after, limit) => readStates(states, generation, filter, after, limit),
    apply: async (generation, operations, { tx }) => {
      await useSchema(tx, generation);
      await execute(tx, operations);
      return true;
    },
    count: async (generation) => {
      const { rows } = await states.query<{ count: string }>(
        `SELECT count(*) FROM ${schemaOf(generation)}.index_document WHERE deleted_at IS NULL`,
      );
      return Number(rows[0]?.count);
    },
    create: async (generation, tx) => {
      await tx.query(`CREATE SCHEMA ${schemaOf(generation)}`);
      await useSchema(tx, generation);
      await tx.query(TABLES);
    },
    seal: (generation, isIdle) => seal(builders, schemaOf(generation), isIdle),
    list: async () => {
      const { rows } = await states.query<{ schema: string }>(
        'SELECT nspname AS schema FROM pg_namespace WHERE starts_with(nspname, $1)',
        [SCHEMA_PREFIX],
      );
      return rows
        .map(({ schema }) => schema.slice(SCHEMA_PREFIX.length))
        .filter((generation) => GENERATION_ID.test(generation));
    },
    drop: async (generation) => {
      // Searches that still run in it delay this; others must not wait for it.
      await builders.query(
        `SET LOCAL lock_timeout = 1000; DROP SCHEMA IF EXISTS ${schemaOf(generation)} CASCADE`,
      );
    },
    stop: async () => {
      await Promise.all([readers, states, builders].map((pool) => pool.end()));
    },
  };
}

/** Writers do not wait for any of this. */
async function seal(pool: pg.Pool, schema: string, isIdle: boolean): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query(`SET search_path = ${schema}, public; SET maintenance_work_mem = '${SORTING_MEMORY}'`);
    await client.query(`SET max_parallel_maintenance_workers = ${isIdle ? 1 : 0}`);
    // Left by an attempt that failed.
    const { rows } = await client.query<{ index: string }>(
      `SELECT indexrelid::regclass AS index FROM pg_index JOIN pg_class c ON c.oid = indexrelid
       WHERE c.relnamespace = $1::regnamespace AND NOT indisvalid`,
      [schema],
    );
    for (const { index } of rows) await client.query(`DROP INDEX ${index}`);
    for (const index of INDEXES) await client.query(index);
    // New tables without statistics get bad plans, and the first reader of a row would write its hint bits.
    await client.query(`VACUUM (ANALYZE) ${TABLE_NAMES.join(', ')}`);
    await client.query(RESET_BULK_SETTINGS);
  } finally {
    // With its settings.
    client.release(true);
  }
}

/** @throws ServiceError when a search took too long, otherwise its own error */
function fail(cause: unknown): never {
  const isCanceled = cause instanceof pg.DatabaseError && cause.code === QUERY_CANCELED;
  const isBusy = cause instanceof Error && NO_CONNECTION.test(cause.message);
  if (!isCanceled && !isBusy) throw cause;
  throw searchTimeout(cause);
}
