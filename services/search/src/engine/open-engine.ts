import pg from 'pg';
import type { SearchConfig } from '../config.ts';
import { openElasticsearchEngine } from './elasticsearch/elasticsearch-engine.ts';
import { keepUpIndex, keptUpIndex } from './kept-up-index.ts';
import { postgresEngine } from './postgres/postgres-engine.ts';
import { inTurn } from './postgres/write-changes.ts';
import type { SearchEngine } from './search-engine.ts';

type EngineSettings = Pick<SearchConfig, 'engine' | 'databaseUrl' | 'searchTimeoutMs' | 'searchConnections'>;

/**
 * The engine that is configured. One that was not kept up the last time begins with an empty index, which is then filled.
 *
 * @throws Error when what it needs is not there
 */
export async function openEngine({
  engine,
  databaseUrl,
  searchTimeoutMs,
  searchConnections,
}: EngineSettings): Promise<SearchEngine & { stop(): Promise<void> }> {
  const settings = { databaseUrl: databaseUrl.href, searchTimeoutMs, maxConnections: searchConnections };
  if (engine.kind === 'postgres') {
    await keepUpPostgres(settings.databaseUrl);
    return postgresEngine(settings);
  }
  const { url, login, indexPrefix, replicas } = engine;
  return openElasticsearchEngine({ ...settings, url, login, indexPrefix, size: { replicas } });
}

async function keepUpPostgres(connectionString: string): Promise<void> {
  const pool = new pg.Pool({ connectionString, max: 1 });
  try {
    await inTurn(pool, async (database) => {
      if ((await keptUpIndex(database)) !== POSTGRES) await keepUpIndex(database, POSTGRES);
    });
  } finally {
    await pool.end();
  }
}

const POSTGRES = 'postgres';
