import { ServiceError } from '@kr/service-error';
import pg from 'pg';
import { demandKeptUp, keptUpElsewhere, POSTGRES } from '../kept-up-index.ts';
import type {
  EngineAnswer,
  EngineHit,
  EngineSearch,
  EntityForm,
  EntityKind,
  FacetCount,
  SearchEngine,
} from '../search-engine.ts';
import { beginBuild, exchangeTimeoutMs, finishBuild } from './build-index.ts';
import { compareIndex } from './compare-index.ts';
import { searchSql } from './search-sql.ts';
import { similarWords } from './similar-words.ts';
import { runSuggest } from './suggest.ts';
import { announceAll, mendDifferences, writeBuild, writeChanges } from './write-changes.ts';

export interface PostgresEngineOptions {
  databaseUrl: string;
  /** Milliseconds one search may take in the database. */
  searchTimeoutMs: number;
  /** Connections for searches; writes have two of their own. */
  maxConnections: number;
}

/** SQLSTATE query_canceled. */
const QUERY_CANCELED = '57014';
/** What the pool says when none of its connections comes free in time, and when a new one takes too long. */
const NO_CONNECTION =
  /^(?:timeout exceeded when trying to connect|Connection terminated due to connection timeout)/;

/** Full-text search in Postgres: everything a document can be found by is in one tsvector. */
export function postgresEngine({
  databaseUrl,
  searchTimeoutMs,
  maxConnections,
}: PostgresEngineOptions): SearchEngine & { stop(): Promise<void> } {
  // Compiling to machine code costs more than these statements run; what one search collects stays in memory.
  const readers = new pg.Pool({
    connectionString: databaseUrl,
    max: maxConnections,
    statement_timeout: searchTimeoutMs,
    connectionTimeoutMillis: searchTimeoutMs,
    options: '-c jit=off -c work_mem=32MB',
  });
  const writers = new pg.Pool({ connectionString: databaseUrl, max: 2 });
  // A connection that breaks while idle is replaced by the pool; without a listener it would end the process.
  for (const pool of [readers, writers]) pool.on('error', () => {});
  let failedExchanges = 0;

  return {
    name: 'postgres',
    search: (search) => runSearch(readers, search).catch(fail),
    suggest: (suggest) => runSuggest(readers, suggest).catch(fail),
    write: (changes) => writeChanges(writers, changes),
    kindsOf: async (ids) => {
      const { rows } = await writers.query<{ id: string; kind: EntityKind }>(
        'SELECT DISTINCT id, kind FROM index_document WHERE id = ANY ($1::text[])',
        [[...ids]],
      );
      return new Map(rows.map(({ id, kind }) => [id, kind]));
    },
    withPassedEmbargo: async (now, limit) => {
      const { rows } = await writers.query<{ id: string; kind: EntityKind }>(
        `SELECT DISTINCT id, kind FROM index_document
         WHERE embargo_until <= $1 AND deleted_at IS NULL ORDER BY id LIMIT $2`,
        [now, limit],
      );
      return rows;
    },
    sweepTombstones: async (writtenBefore) => {
      await writers.query('DELETE FROM index_document WHERE deleted_at < $1', [writtenBefore]);
    },
    isFilled: async () => {
      await demandKeptUp(writers, POSTGRES);
      const { rows } = await writers.query<{ filled_at: Date | null }>('SELECT filled_at FROM index_state');
      return rows[0]?.filled_at instanceof Date;
    },
    markFilled: () => announceAll(writers),
    count: async () => {
      const { rows } = await writers.query<{ count: string }>(
        'SELECT count(*) FROM index_document WHERE deleted_at IS NULL',
      );
      return Number(rows[0]?.count ?? 0);
    },
    beginBuild: () => beginBuild(writers),
    build: (entities) => writeBuild(writers, entities),
    finishBuild: async () => {
      try {
        await finishBuild(writers, exchangeTimeoutMs(failedExchanges, searchTimeoutMs));
        failedExchanges = 0;
      } catch (error) {
        failedExchanges += 1;
        throw error;
      }
    },
    listIds: async (kind, afterId, limit) => {
      const { rows } = await writers.query<{ id: string }>(
        `SELECT DISTINCT id FROM index_document
         WHERE id > $1 AND kind = $2 AND deleted_at IS NULL ORDER BY id LIMIT $3`,
        [afterId, kind, limit],
      );
      return rows.map(({ id }) => id);
    },
    compare: (kind, ids, entities) => compareIndex(writers, kind, ids, entities),
    mend: (differences, entities) => mendDifferences(writers, differences, entities),
    stop: async () => {
      await Promise.all([readers.end(), writers.end()]);
    },
  };
}

interface SearchRow {
  hits: [
    kind: EntityKind,
    id: string,
    form: EntityForm,
    createdAt: string,
    updatedAt: string,
    versionIndex: number,
  ][];
  total: string;
  facets: [facet: string, value: string, count: number][];
  missing: string[];
  kept_up: string;
}

async function runSearch(pool: pg.Pool, search: EngineSearch): Promise<EngineAnswer> {
  const { text, values } = searchSql(search, await similarWords(pool, search.query));
  const { rows } = await pool.query<SearchRow>(text, [...values]);
  const [row] = rows;
  if (!row) throw new Error('a search statement answers one row');
  if (row.kept_up !== POSTGRES) throw keptUpElsewhere();
  const facets: Record<string, FacetCount[]> = {};
  for (const [facet, value, count] of row.facets) {
    facets[facet] ??= [];
    facets[facet].push({ value, count });
  }
  return {
    hits: row.hits.map(
      ([kind, id, form, createdAt, updatedAt, versionIndex]): EngineHit => ({
        kind,
        id,
        form,
        createdAt,
        updatedAt,
        versionIndex,
      }),
    ),
    total: Number(row.total),
    facets,
    missing: row.missing,
  };
}

/** @throws ServiceError when a search took too long, what it was given when it failed for another reason */
function fail(cause: unknown): never {
  const isCanceled = cause instanceof pg.DatabaseError && cause.code === QUERY_CANCELED;
  const isBusy = cause instanceof Error && NO_CONNECTION.test(cause.message);
  if (!isCanceled && !isBusy) throw cause;
  throw new ServiceError('unavailable', 'The search took too long.', {
    code: 'search_timeout',
    retryAfterMs: 1_000,
    cause,
  });
}
