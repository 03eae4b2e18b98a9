import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { Client } from '@elastic/elasticsearch';
import { describe, expect, jest, test } from '@jest/globals';
import { migrate } from '@kr/schema-migration';
import { isTransient } from '@kr/service-error';
import {
  FaultProxy,
  freshDatabase,
  guardElasticsearch,
  openElasticsearch,
  type TestElasticsearch,
  until,
} from '@kr/testbed';
import pg from 'pg';
import { aSearch, aSuggest, idsOf } from '../../index/testing/a-search.ts';
import { anElasticsearchIndex } from '../../index/testing/an-elasticsearch-index.ts';
import { anEntity } from '../../index/testing/an-entity.ts';
import { describeSearchIndex } from '../../index/testing/search-index.contract.ts';
import { fill, type PatientIndex } from '../../index/testing/tested-index.ts';
import { parseQuery } from '../../query/parse-query.ts';
import { queryCondition } from '../../query/query-conditions.ts';
import { MAX_DEPTH, QUERY_LIMITS } from '../../query/query-tree.ts';
import { SCHEMA } from '../../schema.ts';
import { indexOf } from './index-layout.ts';

const elasticsearch = await openElasticsearch();
if ('missing' in elasticsearch) test.skip(`Elasticsearch (${elasticsearch.missing})`, () => {});
else describe('on a real one', () => describeOn(elasticsearch));

function describeOn(server: TestElasticsearch): void {
  describeSearchIndex('Elasticsearch', () => anElasticsearchIndex(server));

  test('writes, finds, suggests and reports nothing as complete while another engine has the live generation', async () => {
    const database = await freshDatabase();
    await migrate({ databaseUrl: database.url, sets: SCHEMA });
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    const { index, stop } = await anElasticsearchIndex(server, { databaseUrl: database.url });
    try {
      await fill(index);
      const setEngine = (name: string) => client.query('UPDATE index_state SET engine = $1', [name]);
      const write = () => index.write({ entities: [anEntity({ id: 'a' })] });
      const search = () => index.search(aSearch());
      const suggest = () => index.suggest(aSuggest({ q: 'title' }));
      await setEngine('another');
      for (const refused of [write, search, suggest, index.isFilled, index.startBuild])
        await expect(refused()).rejects.toMatchObject({ kind: 'unavailable' });
      await setEngine('elasticsearch');
      await write();
      expect([(await search()).total, await suggest()]).toMatchObject([
        1,
        [{ value: 'Title of a', count: 1 }],
      ]);
    } finally {
      await client.end();
      await stop();
      await database.drop();
    }
  });

  test('a query that is nested deeper than Elasticsearch allows is too complex', async () => {
    const { index, stop } = await anElasticsearchIndex(server);
    const limits = { ...QUERY_LIMITS, maxDepth: 100, maxClauses: 1_000 };
    const nested = (depth: number, part: string): string =>
      depth === 0 ? '"a b"^2' : `(${part} ${nested(depth - 1, part)})`;
    const search = (depth: number, part = 'b') => {
      const query = parseQuery(nested(depth, part), limits);
      return index.search({ ...aSearch(), query: query && queryCondition(query) });
    };
    try {
      for (const part of ['b', '+b^2 AND', 'b NOT', '-b NOT', 'title:b^2 AND']) {
        expect((await search(MAX_DEPTH, part)).total).toBe(0);
      }
      await expect(search(60)).rejects.toMatchObject({ kind: 'invalid', code: 'query_too_complex' });
    } finally {
      await stop();
    }
  });

  test('a batch with a refused document shows nothing new until it is repeated completely', async () => {
    const { index, stop } = await anElasticsearchIndex(server);
    const v1 = { id: 'v1', parentId: 'p', versionIndex: 1 };
    const v2 = { id: 'v2', parentId: 'p', versionIndex: 2 };
    const batch = [{ id: 'package' }, { id: 'resource' }, v2].map(anEntity);
    const places = Array.from({ length: 10_001 }, () => ({ west: 0, south: 0, east: 1, north: 1 }));
    const found = async () => idsOf(await index.search(aSearch({ scope: { latestOnly: true } }))).sort();
    try {
      await index.write({ entities: [anEntity(v1)] });
      const refused = batch.map((entity) =>
        entity.id === 'resource' ? { ...entity, boxes: places } : entity,
      );
      await expect(index.write({ entities: refused })).rejects.toThrow('rejected');
      await index.write({ entities: [anEntity({ id: 'other' })] });
      expect(await found()).toEqual(['other', 'v1']);
      await index.write({ entities: batch });
      expect(await found()).toEqual(['other', 'package', 'resource', 'v2']);
    } finally {
      await stop();
    }
  });

  test('a page of a build whose refresh failed leaves nothing unseen for the page after it', async () => {
    const { index, client, stop } = await anElasticsearchIndex(server);
    const refresh = jest.spyOn(Object.getPrototypeOf(client.indices) as Client['indices'], 'refresh');
    const version = (versionIndex: number) =>
      anEntity({ id: `v${versionIndex}`, parentId: 'p', versionIndex });
    const shared = (id: string) => anEntity({ id, parentId: 'q', versionIndex: Number(id.slice(1)) });
    try {
      const build = await index.startBuild();
      await index.build(build, [version(1), shared('w1')]);
      refresh.mockRejectedValueOnce(new Error('no refresh'));
      await expect(index.build(build, [shared('w2')])).rejects.toThrow('no refresh');
      await index.build(build, [version(2)]);
      await index.build(build, [shared('w2')]);
      await index.finishBuild(build);
      expect(idsOf(await index.search(aSearch({ scope: { latestOnly: true } }))).sort()).toEqual([
        'v2',
        'w2',
      ]);
    } finally {
      refresh.mockRestore();
      await stop();
    }
  });

  test('indexes of former builds are deleted after the next one, those of other installations are not', async () => {
    const indexPrefix = server.freshPrefix();
    const client = new Client({ node: server.url });
    const left = indexOf(indexPrefix, '00000000000000');
    const neighbour = indexOf(`${indexPrefix}-too`, '00000000000000');
    for (const index of [left, neighbour]) await client.indices.create({ index });
    const { index, liveName, stop } = await anElasticsearchIndex(server, { indexPrefix });
    try {
      const first = await liveName();
      await fill(index, [anEntity({ id: 'a' })]);
      await index.dropFormer();
      for (const gone of [left, first]) expect(await client.indices.exists({ index: gone })).toBe(false);
      expect(await client.indices.exists({ index: neighbour })).toBe(true);
      expect(idsOf(await index.search(aSearch()))).toEqual(['a']);
    } finally {
      await stop();
      await server.removeIndexes(indexPrefix);
      await client.close();
    }
  });

  test('no search fails while the live index is replaced and the former one deleted', async () => {
    const { index, stop } = await anElasticsearchIndex(server);
    const totals = new Set<number>();
    let isOver = false;
    const search = async () => {
      while (!isOver) totals.add((await index.search(aSearch())).total);
    };
    try {
      await fill(index, [anEntity({ id: 'a' })]);
      const searching = Promise.all([search(), search()]);
      for (let round = 0; round < 10; round += 1) {
        await fill(index, [anEntity({ id: 'a' })]);
        await index.dropFormer();
      }
      isOver = true;
      await searching;
      expect([...totals]).toEqual([1]);
    } finally {
      isOver = true;
      await stop();
    }
  });

  describe('a search engine with authentication', () => {
    const apiKey = 'a-key';

    test('is reached by TLS, once its authority is trusted', async () => {
      const guarded = await guardElasticsearch(server.url, [`ApiKey ${apiKey}`]);
      const trusted = getCACertificates('default');
      const open = (key: string) =>
        anElasticsearchIndex(server, { url: new URL(guarded.url), login: { apiKey: key } });
      try {
        await expect(open(apiKey)).rejects.toMatchObject({ kind: 'unavailable' });
        expect(guarded.served()).toBe(0);
        setDefaultCACertificates([...trusted, guarded.authority]);
        await expect(open('another')).rejects.toMatchObject({ statusCode: 401 });
        expect(guarded.served()).toBe(0);
        const { index, stop } = await open(apiKey);
        try {
          await index.write({ entities: [anEntity({ id: 'a' })] });
          expect(idsOf(await index.search(aSearch()))).toEqual(['a']);
        } finally {
          await stop();
        }
      } finally {
        setDefaultCACertificates(trusted);
        await guarded.stop();
      }
    });
  });

  describe('the template of indexes', () => {
    /** The ones that an engine of this size has. */
    const opened = async (
      size: { shards: number; replicas: number },
      work: (client: Client, names: readonly string[], index: PatientIndex) => Promise<void>,
    ) => {
      const { index, client, indexPrefix, liveName, stop } = await anElasticsearchIndex(server, { size });
      try {
        const build = await index.startBuild();
        await work(client, [await liveName(), indexOf(indexPrefix, build)], index);
      } finally {
        await stop();
      }
    };

    test('creates the live index and the build with the configured size', () =>
      opened({ shards: 3, replicas: 0 }, async (client, names) => {
        for (const name of names) {
          const [{ settings = {} } = {}] = Object.values(await client.indices.getSettings({ index: name }));
          expect(settings.index).toMatchObject({ number_of_shards: '3', number_of_replicas: '0' });
          const [made] = Object.values(await client.indices.getMapping({ index: name }));
          expect(made?.mappings).toMatchObject({
            dynamic: 'strict',
            properties: { id: { type: 'keyword' } },
          });
        }
      }));

    test('lets no write make an index that is not there', () =>
      opened({ shards: 1, replicas: 0 }, async (client, names, index) => {
        const [live = '', build = ''] = names;
        for (const name of [live, build]) await client.indices.delete({ index: name });
        await expect(client.index({ index: live, document: {} })).rejects.toMatchObject({ statusCode: 404 });
        await expect(index.write({ entities: [anEntity({ id: 'a' })] })).rejects.toMatchObject({
          kind: 'unavailable',
        });
        expect(await client.indices.exists({ index: live })).toBe(false);
      }));

    test('that another one covers makes nothing', async () => {
      const indexPrefix = server.freshPrefix();
      const client = new Client({ node: server.url });
      const name = `${indexPrefix}-other`;
      await client.indices.putIndexTemplate({ name, index_patterns: [`${indexPrefix}-*`], priority: 9_999 });
      try {
        await expect(anElasticsearchIndex(server, { indexPrefix })).rejects.toThrow(
          `another index template of a higher priority fits ${indexPrefix}-*`,
        );
      } finally {
        await client.indices.deleteIndexTemplate({ name });
        await server.removeIndexes(indexPrefix);
        await client.close();
      }
    });
  });

  describe('a slow search engine', () => {
    /** An engine whose server is reached through a proxy, and that does not wait long for it. */
    const withProxy = async (work: (proxy: FaultProxy, index: PatientIndex) => Promise<void>) => {
      const proxy = await FaultProxy.start(new URL(server.url).host);
      const through = { url: new URL(proxy.urlThrough(server.url)), searchTimeoutMs: 500 };
      const { index, stop } = await anElasticsearchIndex(server, through);
      try {
        await index.write({ entities: [anEntity({ id: 'before' })] });
        await work(proxy, index);
      } finally {
        await stop();
        await proxy.stop();
      }
    };
    const found = (index: PatientIndex) => index.search(aSearch()).then(idsOf, () => undefined);

    test('is unavailable when it does not answer in time, and available again later', () =>
      withProxy(async (proxy, index) => {
        const heal = proxy.inflict({ kind: 'black hole' });
        await expect(index.search(aSearch())).rejects.toMatchObject({
          kind: 'unavailable',
          code: 'search_timeout',
          retryAfterMs: 1_000,
        });
        heal();
        await until(() => found(index));
      }));

    test('returns nothing while it is unknown whether its index is live', async () => {
      const database = await freshDatabase();
      await migrate({ databaseUrl: database.url, sets: SCHEMA });
      const proxy = await FaultProxy.start(new URL(database.url).host);
      const databaseUrl = proxy.urlThrough(database.url);
      const { index, stop } = await anElasticsearchIndex(server, { databaseUrl });
      let heal = () => {};
      try {
        await index.write({ entities: [anEntity({ id: 'a' })] });
        heal = proxy.inflict({ kind: 'refuse' });
        proxy.reset();
        for (const ask of [() => index.search(aSearch()), () => index.suggest(aSuggest({ q: 'title' }))])
          await expect(ask()).rejects.toMatchObject({ kind: 'unavailable', retryAfterMs: 1_000 });
        heal();
        expect(await until(() => found(index))).toEqual(['a']);
      } finally {
        heal();
        await stop();
        await proxy.stop();
        await database.drop();
      }
    });

    test('accepts repeated writes when it is back', () =>
      withProxy(async (proxy, index) => {
        proxy.reset();
        const heal = proxy.inflict({ kind: 'refuse' });
        await expect(index.search(aSearch())).rejects.toMatchObject({ kind: 'unavailable' });
        const change = { entities: [anEntity({ id: 'during' })] };
        const failure = await index.write(change).catch((error: unknown) => error);
        expect(isTransient(failure)).toBe(true);
        heal();
        await index.write(change);
        expect(await until(() => found(index))).toEqual(['before', 'during']);
      }));
  });
}
