import { setTimeout as pause } from 'node:timers/promises';
import { ServiceError } from '@kr/service-error';
import type { Logger } from '@kr/telemetry';
import type { SearchConfig } from './config.ts';
import { postgresEngine } from './engine/postgres/postgres-engine.ts';
import type { SearchEngine } from './engine/search-engine.ts';
import { type IndexState, openIndexState } from './index/index-state.ts';
import { openSearchIndex, type SearchIndex } from './index/search-index.ts';

type IndexSettings = Pick<SearchConfig, 'engine' | 'databaseUrl' | 'searchTimeoutMs' | 'searchConnections'>;

export interface OpenIndex {
  index: SearchIndex;
  /** Checks of the dependencies of searches besides the service's own database; each rejects when one is unavailable. */
  checks: Readonly<Record<string, () => Promise<void>>>;
}

/**
 * The index in the configured engine.
 * @throws Error when its database does not exist, or Elasticsearch rejects the requests or is unavailable for ten minutes
 */
export async function openIndex(
  { engine: config, databaseUrl, searchTimeoutMs, searchConnections }: IndexSettings,
  logger: Pick<Logger, 'warn'>,
): Promise<OpenIndex> {
  const database = { databaseUrl: databaseUrl.href, maxConnections: searchConnections };
  const state = openIndexState({ databaseUrl: databaseUrl.href, timeoutMs: searchTimeoutMs });
  if (config.kind === 'postgres') {
    const engine = postgresEngine({ ...database, searchTimeoutMs });
    return { index: await openOrStop(engine, state, logger), checks: {} };
  }
  // Its client is hundreds of modules, which a start without it does not load.
  const { elasticsearchEngine } = await import('./engine/elasticsearch/elasticsearch-engine.ts');
  const readLive = async () => (await state.read()).live?.id ?? null;
  const engine = elasticsearchEngine({
    ...config,
    // One shard: all documents of a batch become visible together.
    size: { shards: 1, replicas: config.replicas },
    maxConnections: searchConnections,
    readLive,
  });
  const index = await openOrStop(engine, state, logger);
  return { index, checks: { elasticsearch: async () => engine.check((await readLive()) ?? '') } };
}

/** Elasticsearch may be starting too, which is slow. A deployment times out later than this. */
const ARRIVAL_TIMEOUT_MS = 600_000;
const RETRY_MS = 1_000;

async function openOrStop<Content>(
  engine: SearchEngine<Content>,
  state: IndexState,
  logger: Pick<Logger, 'warn'>,
): Promise<SearchIndex> {
  const givesUpAt = performance.now() + ARRIVAL_TIMEOUT_MS;
  while (true) {
    try {
      return await openSearchIndex(engine, state);
    } catch (error) {
      if (ServiceError.from(error).kind !== 'unavailable' || performance.now() > givesUpAt) {
        await Promise.all([engine.stop(), state.stop()]);
        throw error;
      }
      logger.warn({ err: error }, 'the search engine is unavailable, trying again');
    }
    await pause(RETRY_MS);
  }
}
