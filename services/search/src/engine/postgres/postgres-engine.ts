import pg from 'pg';
import { assertActive, openPool, POSTGRES } from '../active-index.ts';
import type { EntityKind, SearchEngine } from '../search-engine.ts';
import { searchTimeout } from '../search-engine.ts';
import { beginBuild, buildFinisher, buildWriter, countDocuments, isBuiltAs } from './build-index.ts';
import { compareIndex } from './compare-index.ts';
import { searchRunner } from './run-search.ts';
import { runSuggest } from './suggest.ts';
import { type TimedQueries, timedQueries } from './timed-queries.ts';
import { announceAll, repairDifferences, writeChanges } from './write-changes.ts';

export interface PostgresEngineOptions {
  databaseUrl: string;
  /** The time limit of one search in the database, in milliseconds. */
  searchTimeoutMs: number;
  /** Connections for searches; writes and builds have two each, the state of the index and its comparison one each. */
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

/**
 * A build takes one processor of the database at a time, unless it is alone, and its cleaning up makes pauses, about as
 * long as its work.
 */
const BUILDING = settings({
  max_parallel_maintenance_workers: 0,
  vacuum_cost_delay: '1ms',
  vacuum_cost_limit: 2_000,
});

function settings(values: Readonly<Record<string, string | number>>): string {
  return Object.entries(values)
    .map(([setting, value]) => `-c ${setting}=${value}`)
    .join(' ');
}

/** SQLSTATE query_canceled. */
const QUERY_CANCELED = '57014';
/** Errors of the pool when no connection is free in time, and when opening one takes too long. */
const NO_CONNECTION =
  /^(?:timeout exceeded when trying to connect|Connection terminated due to connection timeout)/;

/** Full-text search in Postgres: everything a document can be found by is in one tsvector. */
export function postgresEngine({
  databaseUrl,
  searchTimeoutMs,
  maxConnections,
}: PostgresEngineOptions): SearchEngine & { stop(): Promise<void> } {
  const readers = openPool({
    connectionString: databaseUrl,
    max: maxConnections,
    statement_timeout: searchTimeoutMs,
    connectionTimeoutMillis: searchTimeoutMs,
    options: READING,
  });
  const writers = openPool({ connectionString: databaseUrl, max: 2 });
  // Operators want to know how it is above all when all others wait.
  const states = openPool({ connectionString: databaseUrl, max: 1 });
  const builders = openPool({ connectionString: databaseUrl, max: 2, options: BUILDING });
  // Comparing takes long, and neither writers nor builds wait for it.
  const checks = openPool({ connectionString: databaseUrl, max: 1, options: BUILDING });
  const runSearch = searchRunner();
  const timed = (timeoutMs: number | undefined): TimedQueries =>
    timedQueries(
      { pool: readers, poolTimeoutMs: searchTimeoutMs, elapsed: () => performance.now() },
      timeoutMs,
    );
  const finish = buildFinisher(builders, searchTimeoutMs);

  return {
    name: 'postgres',
    search: (search, timeoutMs) => runSearch(timed(timeoutMs), search).catch(fail),
    suggest: (suggest, timeoutMs) => runSuggest(timed(timeoutMs), suggest).catch(fail),
    write: (changes) => writeChanges(writers, changes),
    kindsOf: async (ids) => {
      const { rows } = await writers.query<{ id: string; kind: EntityKind }>(
        'SELECT DISTINCT id, kind FROM index_document WHERE id = ANY ($1::text[])',
        [[...ids]],
      );
      return new Map(rows.map(({ id, kind }) => [id, kind]));
    },
    withPassedEmbargo: async (now, afterId, limit) => {
      const { rows } = await writers.query<{ id: string; kind: EntityKind }>(
        `SELECT DISTINCT id, kind FROM index_document
         WHERE embargo_until <= $1 AND id > $2 AND deleted_at IS NULL ORDER BY id LIMIT $3`,
        [now, afterId, limit],
      );
      return rows;
    },
    deleteOldTombstones: async (writtenBefore) => {
      await writers.query('DELETE FROM index_document WHERE deleted_at < $1', [writtenBefore]);
    },
    isFilled: async () => {
      await assertActive(states, POSTGRES);
      const { rows } = await states.query<{ filled_at: Date | null }>('SELECT filled_at FROM index_state');
      return rows[0]?.filled_at instanceof Date;
    },
    markFilled: () => announceAll(writers),
    count: () => countDocuments(states),
    beginBuild: () => beginBuild(builders),
    build: buildWriter(builders),
    finishBuild: (id, isAlone = false) => finish(id, isAlone),
    isLive: (buildId) => isBuiltAs(writers, 'public', buildId),
    listIds: async (kind, afterId, limit) => {
      const { rows } = await checks.query<{ id: string }>(
        `SELECT DISTINCT id FROM index_document
         WHERE id > $1 AND kind = $2 AND deleted_at IS NULL ORDER BY id LIMIT $3`,
        [afterId, kind, limit],
      );
      return rows.map(({ id }) => id);
    },
    compare: (kind, ids, entities) => compareIndex(checks, kind, ids, entities),
    mend: (differences, entities) => repairDifferences(writers, differences, entities),
    stop: async () => {
      await Promise.all([readers, writers, states, builders, checks].map((pool) => pool.end()));
    },
  };
}

/** @throws ServiceError when a search took too long, what it was given when it failed for another reason */
function fail(cause: unknown): never {
  const isCanceled = cause instanceof pg.DatabaseError && cause.code === QUERY_CANCELED;
  const isBusy = cause instanceof Error && NO_CONNECTION.test(cause.message);
  if (!isCanceled && !isBusy) throw cause;
  throw searchTimeout(cause);
}
