import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { Client } from '@elastic/elasticsearch';
import { describe, expect, jest, test } from '@jest/globals';
import { MIGRATIONS } from '@kr/event-bus';
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
import { SEARCH_MIGRATIONS } from '../../migrations.ts';
import { parseQuery } from '../../query/parse-query.ts';
import { MOST_DEPTH, QUERY_LIMITS } from '../../query/query-tree.ts';
import type { SearchEngine } from '../search-engine.ts';
import { aSearch, aSuggest, idsOf } from '../testing/a-search.ts';
import { anEntity } from '../testing/an-entity.ts';
import { describeSearchEngine } from '../testing/search-engine.contract.ts';
import { buildWriter } from './build-documents.ts';
import { createIndex, exchange, indexNames, removeUnaliased } from './live-index.ts';
import { anElasticsearchEngine } from './testing/an-elasticsearch-engine.ts';

const elasticsearch = await openElasticsearch();
if ('missing' in elasticsearch) test.skip(`Elasticsearch (${elasticsearch.missing})`, () => {});
else describe('on a real one', () => describeOn(elasticsearch));

function describeOn(server: TestElasticsearch): void {
  describeSearchEngine('Elasticsearch', () => anElasticsearchEngine(server));

  test('writes, finds, suggests and reports nothing as complete while another index is maintained', async () => {
    const database = await freshDatabase();
    await migrate({ databaseUrl: database.url, sets: [MIGRATIONS, SEARCH_MIGRATIONS] });
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    const { engine, stop } = await anElasticsearchEngine(server, { databaseUrl: database.url });
    try {
      await engine.markFilled();
      const { rows } = await client.query<{ kept_up: string }>('SELECT kept_up FROM index_state');
      const keepUp = (name: string) => client.query('UPDATE index_state SET kept_up = $1', [name]);
      const write = () => engine.write({ entities: [anEntity({ id: 'a' })] });
      const search = () => engine.search(aSearch());
      const suggest = () => engine.suggest(aSuggest({ q: 'title' }));
      await keepUp('another');
      for (const refused of [write, search, suggest, engine.isFilled, engine.beginBuild, engine.markFilled])
        await expect(refused()).rejects.toMatchObject({ kind: 'unavailable' });
      expect(await engine.count()).toBe(0);
      await keepUp(rows[0]?.kept_up ?? '');
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
    const { engine, stop } = await anElasticsearchEngine(server);
    const limits = { ...QUERY_LIMITS, maxDepth: 100, maxClauses: 1_000 };
    const nested = (depth: number, part: string): string =>
      depth === 0 ? '"a b"^2' : `(${part} ${nested(depth - 1, part)})`;
    const search = (depth: number, part = 'b') =>
      engine.search({ ...aSearch(), query: parseQuery(nested(depth, part), limits) });
    try {
      for (const part of ['b', '+b^2 AND', 'b NOT', '-b NOT', 'title:b^2 AND']) {
        expect((await search(MOST_DEPTH, part)).total).toBe(0);
      }
      await expect(search(60)).rejects.toMatchObject({ kind: 'invalid', code: 'query_too_complex' });
    } finally {
      await stop();
    }
  });

  test('a batch with a refused document shows nothing new until it is repeated completely', async () => {
    const { engine, stop } = await anElasticsearchEngine(server);
    const v1 = { id: 'v1', parentId: 'p', versionIndex: 1 };
    const v2 = { id: 'v2', parentId: 'p', versionIndex: 2 };
    const batch = [{ id: 'package' }, { id: 'resource' }, v2].map(anEntity);
    const places = Array.from({ length: 10_001 }, () => ({ west: 0, south: 0, east: 1, north: 1 }));
    const found = async () => idsOf(await engine.search(aSearch({ scope: { latestOnly: true } }))).sort();
    try {
      await engine.write({ entities: [anEntity(v1)] });
      const refused = batch.map((entity) =>
        entity.id === 'resource' ? { ...entity, boxes: places } : entity,
      );
      await expect(engine.write({ entities: refused })).rejects.toThrow('refused');
      await engine.write({ entities: [anEntity({ id: 'other' })] });
      expect(await found()).toEqual(['other', 'v1']);
      await engine.write({ entities: batch });
      expect(await found()).toEqual(['other', 'package', 'resource', 'v2']);
    } finally {
      await stop();
    }
  });

  test('a page of a build whose refresh failed leaves nothing unseen for the page after it', async () => {
    const client = new Client({ node: server.url });
    const names = indexNames(server.freshPrefix());
    const { index } = await createIndex(client, names, 'build', { shards: 1, replicas: 0 });
    const build = buildWriter(client, (_index, work) => work());
    const version = (versionIndex: number) =>
      anEntity({ id: `v${versionIndex}`, parentId: 'p', versionIndex });
    const shared = (id: string) => anEntity({ id, parentId: 'q', versionIndex: Number(id.slice(1)) });
    try {
      await build(index, [version(1), shared('w1')]);
      jest.spyOn(client.indices, 'refresh').mockRejectedValueOnce(new Error('no refresh'));
      await expect(build(index, [shared('w2')])).rejects.toThrow('no refresh');
      await build(index, [version(2)]);
      await build(index, [shared('w2')]);
      await client.indices.refresh({ index });
      const { hits } = await client.search<{ id: string }>({ index, query: { term: { isLatest: true } } });
      expect(hits.hits.map(({ _source }) => _source?.id).sort()).toEqual(['v2', 'w2']);
    } finally {
      await server.removeIndexes(names.prefix);
      await client.close();
    }
  });

  test('an index that was left before it had a name is gone when another one is made', async () => {
    const indexPrefix = server.freshPrefix();
    const client = new Client({ node: server.url });
    const left = indexNames(indexPrefix).fresh();
    const neighbour = indexNames(`${indexPrefix}-too`).fresh();
    for (const index of [left, neighbour]) await client.indices.create({ index });
    const { engine, stop } = await anElasticsearchEngine(server, { indexPrefix });
    try {
      await engine.beginBuild();
      await engine.write({ entities: [anEntity({ id: 'a' })] });
      expect(await client.indices.exists({ index: left })).toBe(false);
      expect(await client.indices.exists({ index: neighbour })).toBe(true);
      expect(idsOf(await engine.search(aSearch()))).toEqual(['a']);
    } finally {
      await stop();
      await server.removeIndexes(indexPrefix);
      await client.close();
    }
  });

  test('no search fails while the live index is replaced, and replaced indexes are deleted', async () => {
    const client = new Client({ node: server.url });
    const names = indexNames(server.freshPrefix());
    const size = { shards: 1, replicas: 0 };
    const failures: unknown[] = [];
    let isOver = false;
    const search = async () => {
      while (!isOver) {
        await client
          .search({ index: names.live, allow_partial_search_results: false })
          .catch((error: unknown) => failures.push(error));
      }
    };
    try {
      await createIndex(client, names, 'live', size);
      const searching = Promise.all([search(), search()]);
      let live = '';
      for (let round = 0; round < 20; round += 1) {
        ({ index: live } = await createIndex(client, names, round % 2 === 0 ? 'build' : 'live', size));
        if (round % 2 === 0) await exchange(client, names, live);
        await removeUnaliased(client, names);
      }
      isOver = true;
      await searching;
      expect(failures).toEqual([]);
      expect(Object.keys(await client.indices.getAlias({ index: names.all }))).toEqual([live]);
    } finally {
      isOver = true;
      await server.removeIndexes(names.prefix);
      await client.close();
    }
  });

  describe('a search engine with authentication', () => {
    const apiKey = 'a-key';

    test('is reached by TLS, once its authority is trusted', async () => {
      const guarded = await guardElasticsearch(server.url, [`ApiKey ${apiKey}`]);
      const trusted = getCACertificates('default');
      const open = (key: string) =>
        anElasticsearchEngine(server, { url: new URL(guarded.url), login: { apiKey: key } });
      try {
        await expect(open(apiKey)).rejects.toMatchObject({ kind: 'unavailable' });
        expect(guarded.served()).toBe(0);
        setDefaultCACertificates([...trusted, guarded.authority]);
        await expect(open('another')).rejects.toMatchObject({ statusCode: 401 });
        expect(guarded.served()).toBe(0);
        const { engine, stop } = await open(apiKey);
        try {
          await engine.write({ entities: [anEntity({ id: 'a' })] });
          expect(idsOf(await engine.search(aSearch()))).toEqual(['a']);
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
      work: (client: Client, index: string, engine: SearchEngine) => Promise<void>,
    ) => {
      const { engine, client, index, stop } = await anElasticsearchEngine(server, { size });
      try {
        await work(client, index, engine);
      } finally {
        await stop();
      }
    };

    test('creates the live index and the build with the configured size', () =>
      opened({ shards: 3, replicas: 0 }, async (client, index, engine) => {
        await engine.beginBuild();
        for (const alias of [index, index.replace(/-live$/, '-build')]) {
          const [{ settings = {} } = {}] = Object.values(await client.indices.getSettings({ index: alias }));
          expect(settings.index).toMatchObject({ number_of_shards: '3', number_of_replicas: '0' });
          const [made] = Object.values(await client.indices.getMapping({ index: alias }));
          expect(made?.mappings).toMatchObject({
            dynamic: 'strict',
            properties: { id: { type: 'keyword' } },
          });
        }
      }));

    test('lets no write make an index that is not there', () =>
      opened({ shards: 1, replicas: 0 }, async (client, index, engine) => {
        await client.indices.delete({
          index: Object.keys(await client.indices.getAlias({ name: index }))[0] ?? '',
        });
        await expect(client.index({ index, document: {} })).rejects.toMatchObject({ statusCode: 404 });
        await expect(engine.write({ entities: [anEntity({ id: 'a' })] })).rejects.toMatchObject({
          kind: 'unavailable',
        });
        expect(await client.indices.exists({ index })).toBe(false);
      }));

    test('that another one covers makes nothing', async () => {
      const indexPrefix = server.freshPrefix();
      const client = new Client({ node: server.url });
      const name = `${indexPrefix}-other`;
      await client.indices.putIndexTemplate({ name, index_patterns: [`${indexPrefix}-*`], priority: 9_999 });
      try {
        await expect(anElasticsearchEngine(server, { indexPrefix })).rejects.toThrow(
          `another index template of a higher priority fits ${indexPrefix}-*`,
        );
      } finally {
        await client.indices.deleteIndexTemplate({ name });
        await server.removeIndexes(indexPrefix);
        await client.close();
      }
    });
  });

  describe('a search engine that is far away', () => {
    /** An engine whose server is reached through a proxy, and that does not wait long for it. */
    const withProxy = async (work: (proxy: FaultProxy, engine: SearchEngine) => Promise<void>) => {
      const proxy = await FaultProxy.start(new URL(server.url).host);
      const through = { url: new URL(proxy.urlThrough(server.url)), searchTimeoutMs: 500 };
      const { engine, stop } = await anElasticsearchEngine(server, through);
      try {
        await engine.write({ entities: [anEntity({ id: 'before' })] });
        await work(proxy, engine);
      } finally {
        await stop();
        await proxy.stop();
      }
    };
    const found = (engine: SearchEngine) => engine.search(aSearch()).then(idsOf, () => undefined);

    test('is unavailable when it does not answer in time, and available again later', () =>
      withProxy(async (proxy, engine) => {
        const heal = proxy.inflict({ kind: 'black hole' });
        await expect(engine.search(aSearch())).rejects.toMatchObject({
          kind: 'unavailable',
          code: 'search_timeout',
          retryAfterMs: 1_000,
        });
        heal();
        await until(() => found(engine));
      }));

    test('returns nothing while it is unknown whether its index is maintained', async () => {
      const database = await freshDatabase();
      await migrate({ databaseUrl: database.url, sets: [MIGRATIONS, SEARCH_MIGRATIONS] });
      const proxy = await FaultProxy.start(new URL(database.url).host);
      const databaseUrl = proxy.urlThrough(database.url);
      const { engine, stop } = await anElasticsearchEngine(server, { databaseUrl });
      let heal = () => {};
      try {
        await engine.write({ entities: [anEntity({ id: 'a' })] });
        heal = proxy.inflict({ kind: 'refuse' });
        proxy.reset();
        for (const ask of [() => engine.search(aSearch()), () => engine.suggest(aSuggest({ q: 'title' }))])
          await expect(ask()).rejects.toMatchObject({ kind: 'unavailable', retryAfterMs: 1_000 });
        heal();
        expect(await until(() => found(engine))).toEqual(['a']);
      } finally {
        heal();
        await stop();
        await proxy.stop();
        await database.drop();
      }
    });

    test('accepts repeated writes when it is back', () =>
      withProxy(async (proxy, engine) => {
        proxy.reset();
        const heal = proxy.inflict({ kind: 'refuse' });
        await expect(engine.search(aSearch())).rejects.toMatchObject({ kind: 'unavailable' });
        const change = { entities: [anEntity({ id: 'during' })] };
        const failure = await engine.write(change).catch((error: unknown) => error);
        expect(isTransient(failure)).toBe(true);
        heal();
        await engine.write(change);
        expect(await until(() => found(engine))).toEqual(['before', 'during']);
      }));
  });
}
