import { Client } from '@elastic/elasticsearch';
import { MIGRATIONS } from '@kr/event-bus';
import { migrate } from '@kr/schema-migration';
import { freshDatabase, type TestElasticsearch } from '@kr/testbed';
import { SEARCH_MIGRATIONS } from '../../../migrations.ts';
import type { TestedEngine } from '../../testing/tested-engine.ts';
import { type ElasticsearchEngineOptions, openElasticsearchEngine } from '../elasticsearch-engine.ts';

/** An engine with separate indexes, which are removed when it stops, and direct access to them. */
export async function anElasticsearchEngine(
  elasticsearch: TestElasticsearch,
  options: Partial<ElasticsearchEngineOptions> = {},
): Promise<TestedEngine & { client: Client; index: string }> {
  const database = await freshDatabase();
  await migrate({ databaseUrl: database.url, sets: [MIGRATIONS, SEARCH_MIGRATIONS] });
  const indexPrefix = elasticsearch.freshPrefix();
  const client = new Client({ node: elasticsearch.url });
  const engine = await openElasticsearchEngine({
    url: new URL(elasticsearch.url),
    login: null,
    indexPrefix,
    size: { shards: 1, replicas: 0 },
    // No test is about how long a search takes on a busy machine.
    searchTimeoutMs: 60_000,
    maxConnections: 2,
    databaseUrl: database.url,
    ...options,
  });
  const index = `${indexPrefix}-live`;
  return {
    engine,
    client,
    index,
    clear: async () => {
      const { hits } = await client.search({ index, size: 10_000, _source: false });
      const operations = hits.hits.map(({ _id }) => ({ delete: { _id } }));
      if (operations.length > 0) await client.bulk({ index, operations, refresh: true });
    },
    stop: async () => {
      await engine.stop();
      await client.close();
      await elasticsearch.removeIndexes(indexPrefix);
      await database.drop();
    },
  };
}
