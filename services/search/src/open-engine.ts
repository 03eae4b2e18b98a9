import { setTimeout as pause } from 'node:timers/promises';
import { ServiceError } from '@kr/service-error';
import type { Logger } from '@kr/telemetry';
import type { ElasticsearchConfig, SearchConfig } from './config.ts';
import { activeIndex, keepUpIndex, openPool, POSTGRES } from './engine/active-index.ts';
import { openElasticsearchEngine } from './engine/elasticsearch/elasticsearch-engine.ts';
import { elasticsearchCheck } from './engine/elasticsearch/live-index.ts';
import { postgresEngine } from './engine/postgres/postgres-engine.ts';
import { inTurn } from './engine/postgres/write-changes.ts';
import type { SearchEngine } from './engine/search-engine.ts';

type EngineSettings = Pick<SearchConfig, 'engine' | 'databaseUrl' | 'searchTimeoutMs' | 'searchConnections'>;

export interface OpenEngine extends SearchEngine {
  /** Whether what searches need beside the service's own database is there; each rejects when it is not. */
  readonly checks: Readonly<Record<string, () => Promise<void>>>;
  stop(): Promise<void>;
}

/** Elasticsearch may be starting too, and takes long. A deployment times out later than this. */
const ARRIVAL_TIMEOUT_MS = 600_000;
const RETRY_MS = 1_000;

/**
 * The configured engine. If it was not the one maintained last, it starts with an empty index, which is then built.
 * @throws Error when its database does not exist, or Elasticsearch refuses, or is unavailable for ten minutes
 */
export async function openEngine(
  { engine, databaseUrl, searchTimeoutMs, searchConnections }: EngineSettings,
  logger: Pick<Logger, 'warn'>,
): Promise<OpenEngine> {
  const settings = { databaseUrl: databaseUrl.href, searchTimeoutMs, maxConnections: searchConnections };
  if (engine.kind === 'postgres') {
    await keepUpPostgres(settings.databaseUrl);
    return { ...postgresEngine(settings), checks: {} };
  }
  return openElasticsearch(engine, settings, logger);
}

async function openElasticsearch(
  config: ElasticsearchConfig,
  settings: { databaseUrl: string; searchTimeoutMs: number; maxConnections: number },
  logger: Pick<Logger, 'warn'>,
): Promise<OpenEngine> {
  const { url, login, indexPrefix, replicas } = config;
  // One shard: all documents of a batch become visible together.
  const size = { shards: 1, replicas };
  const open = () => openElasticsearchEngine({ ...settings, url, login, indexPrefix, size });
  const engine = await onceThere(open, logger);
  const { check, stop } = elasticsearchCheck(config);
  return {
    ...engine,
    checks: { elasticsearch: check },
    stop: async () => {
      await Promise.all([engine.stop(), stop()]);
    },
  };
}

async function onceThere<Engine>(open: () => Promise<Engine>, logger: Pick<Logger, 'warn'>): Promise<Engine> {
  const givesUpAt = performance.now() + ARRIVAL_TIMEOUT_MS;
  while (true) {
    try {
      return await open();
    } catch (error) {
      if (ServiceError.from(error).kind !== 'unavailable' || performance.now() > givesUpAt) throw error;
      logger.warn({ err: error }, 'the search engine is not there, trying again');
    }
    await pause(RETRY_MS);
  }
}

async function keepUpPostgres(connectionString: string): Promise<void> {
  const pool = openPool({ connectionString, max: 1 });
  try {
    await inTurn(pool, async (database) => {
      if ((await activeIndex(database)) !== POSTGRES) await keepUpIndex(database, POSTGRES);
    });
  } finally {
    await pool.end();
  }
}
