import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  FaultProxy,
  type GuardedElasticsearch,
  guardElasticsearch,
  openElasticsearch,
  type TestElasticsearch,
  until,
} from '@kr/testbed';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import type { Entity, Listing } from './story/answers.ts';
import { type HttpClient, httpClient, oneTryClient } from './story/http-client.ts';
import { packageOfResources, publish, publishedRecord } from './story/stories.ts';

const elasticsearch = await openElasticsearch();
if ('missing' in elasticsearch) test.skip(`a system with Elasticsearch (${elasticsearch.missing})`, () => {});
else describe('a system that searches in Elasticsearch', () => describeOn(elasticsearch));

function describeOn({ url, freshPrefix, removeIndexes }: TestElasticsearch): void {
  let guarded: GuardedElasticsearch;
  let proxy: FaultProxy;
  let system: TestSystem;
  let author: HttpClient;
  let anonymous: HttpClient;
  const indexPrefix = freshPrefix();
  beforeAll(async () => {
    guarded = await guardElasticsearch(url, ['ApiKey a-key']);
    proxy = await FaultProxy.start(new URL(guarded.url).host);
    system = await startSystem({
      environment: {
        SEARCH_ENGINE: 'elasticsearch',
        ELASTICSEARCH_URL: proxy.urlThrough(guarded.url),
        ELASTICSEARCH_API_KEY: 'a-key',
        NODE_EXTRA_CA_CERTS: guarded.authorityFile,
        ELASTICSEARCH_INDEX_PREFIX: indexPrefix,
        ELASTICSEARCH_REPLICAS: '0',
      },
      settings: { searchTimeoutMs: 30_000 },
    });
    author = httpClient(system.baseUrl, system.token);
    anonymous = httpClient(system.baseUrl);
  });
  afterAll(async () => {
    await system?.stop();
    await proxy?.stop();
    await guarded?.stop();
    await removeIndexes(indexPrefix);
  });

  const search = (query: string) => anonymous.call<Listing>('GET', `/search?sort=oldest&${query}`);
  const titlesOf = ({ body }: { body: Listing }) => body.hits.hits.map(({ metadata }) => metadata['title']);

  test('finds a package with its resources, at once and by their facets', async () => {
    const { main } = await packageOfResources(author, 'Glaciers', 2);
    await publish(author, main);
    const found = await until(async () => {
      const answer = await search('q=glaciers');
      return answer.body.hits.total > 0 ? answer : undefined;
    });
    expect(titlesOf(found).sort()).toEqual(['Glaciers', 'Glaciers, part 1', 'Glaciers, part 2']);
    expect(found.body.aggregations['record_type']).toMatchObject({
      buckets: [
        { key: 'resource', doc_count: 2 },
        { key: 'package', doc_count: 1 },
      ],
    });
    expect(titlesOf(await search('q=title:"part 2"&record_type=resource'))).toEqual(['Glaciers, part 2']);
    const mine = await author.sure<Listing>('GET', `/user/records?q=metadata.title:glac*`);
    expect(mine.hits.total).toBe(2);
    const { body } = await anonymous.call<{ suggestions: object[] }>('GET', '/search/suggest?q=gla%20par');
    expect(body.suggestions).toHaveLength(2);
  });

  test('publishes while the engine is away, and finds it when it is back', async () => {
    const heal = proxy.inflict({ kind: 'refuse' });
    proxy.reset();
    const record: Entity = await publishedRecord(author, 'Moraines');
    const answer = await oneTryClient(system.baseUrl).call('GET', '/search?q=moraines');
    expect({ status: answer.status, retryAfter: answer.headers.get('retry-after') }).toEqual({
      status: 503,
      retryAfter: '1',
    });
    heal();
    const found = await until(async () => {
      const again = await search('q=moraines');
      return again.status === 200 && again.body.hits.total > 0 ? again : undefined;
    });
    expect(found.body.hits.hits.map(({ id }) => id)).toEqual([record.id]);
  });
}
