import { Client } from '@elastic/elasticsearch';
import { migrate } from '@kr/schema-migration';
import { freshDatabase, type TestElasticsearch } from '@kr/testbed';
import {
  type ElasticsearchEngineOptions,
  elasticsearchEngine,
} from '../../engine/elasticsearch/elasticsearch-engine.ts';
import { SCHEMA } from '../../schema.ts';
import { openIndexState } from '../index-state.ts';
import { openSearchIndex } from '../search-index.ts';
import { type TestedIndex, withTimeout } from './tested-index.ts';

export interface TestedElasticsearch extends TestedIndex {
  client: Client;
  indexPrefix: string;
  /** The name of the live index in Elasticsearch. */
  liveName(): Promise<string>;
}

type Options = Partial<ElasticsearchEngineOptions> & { databaseUrl?: string; searchTimeoutMs?: number };

/** An index with separate indexes in Elasticsearch, which are removed when it stops, and direct access to them. */
export async function anElasticsearchIndex(
  elasticsearch: TestElasticsearch,
  // No test is about how long a search takes on a busy machine.
  { databaseUrl, searchTimeoutMs = 60_000, ...options }: Options = {},
): Promise<TestedElasticsearch> {
  const database = await freshDatabase();
  await migrate({ databaseUrl: database.url, sets: SCHEMA });
  const indexPrefix = options.indexPrefix ?? elasticsearch.freshPrefix();
  const client = new Client({ node: elasticsearch.url });
  const state = openIndexState({ databaseUrl: databaseUrl ?? database.url, timeoutMs: searchTimeoutMs });
  const readLive = async () => (await state.read()).live?.id ?? null;
  const engine = elasticsearchEngine({
    url: new URL(elasticsearch.url),
    login: null,
    size: { shards: 1, replicas: 0 },
    maxConnections: 2,
    readLive,
    ...options,
    indexPrefix,
  });
  const stop = async () => {
    await Promise.all([engine.stop(), state.stop(), client.close()]);
    await elasticsearch.removeIndexes(indexPrefix);
    await database.drop();
  };
  const opened = await openSearchIndex(engine, state).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  const liveName = async () => `${indexPrefix}-${await readLive()}`;
  return {
    index: withTimeout(opened, searchTimeoutMs),
    client,
    indexPrefix,
    liveName,
    clear: async () => {
      const index = await liveName();
      const { hits } = await client.search({ index, size: 10_000, _source: false });
      const operations = hits.hits.map(({ _id }) => ({ delete: { _id } }));
      if (operations.length > 0) await client.bulk({ index, operations, refresh: true });
    },
    deleteGeneration: async (id) => {
      await client.indices.delete({ index: `${indexPrefix}-${id}` });
    },
    stop,
  };
}
