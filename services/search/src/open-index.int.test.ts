import { expect, test } from '@jest/globals';
import { migrate } from '@kr/schema-migration';
import { FaultProxy, freshDatabase, openElasticsearch, until } from '@kr/testbed';
import type { EngineConfig } from './config.ts';
import { deadlineIn } from './engine/deadline.ts';
import { aSearch, idsOf } from './index/testing/a-search.ts';
import { anEntity } from './index/testing/an-entity.ts';
import { fill } from './index/testing/tested-index.ts';
import { openIndex } from './open-index.ts';
import { SCHEMA } from './schema.ts';

const elasticsearch = await openElasticsearch();
if ('missing' in elasticsearch) test.skip(`changing engines (${elasticsearch.missing})`, () => {});
else {
  const { url, freshPrefix, removeIndexes } = elasticsearch;
  test('an index is unchanged, unless another engine had the live one meanwhile: then it starts empty', async () => {
    const database = await freshDatabase();
    await migrate({ databaseUrl: database.url, sets: SCHEMA });
    const postgres: EngineConfig = { kind: 'postgres' };
    const indexPrefix = freshPrefix();
    const search: EngineConfig = {
      kind: 'elasticsearch',
      url: new URL(url),
      login: null,
      indexPrefix,
      replicas: 0,
    };
    const open = (engine: EngineConfig) =>
      openIndex(
        { engine, databaseUrl: new URL(database.url), searchTimeoutMs: 60_000, searchConnections: 1 },
        { warn: () => {} },
      );
    /** The index of an engine when it is opened, before it is built. */
    const foundBy = async (config: EngineConfig) => {
      const { index } = await open(config);
      const ids = idsOf(await index.search(aSearch(), deadlineIn(60_000)));
      const isFilled = await index.isFilled();
      await fill(index, [anEntity({ id: config.kind })]);
      await index.stop();
      return { ids, isFilled };
    };
    const [anew, asLeft] = [{ ids: [], isFilled: false }, (id: string) => ({ ids: [id], isFilled: true })];
    try {
      expect([
        await foundBy(postgres),
        await foundBy(postgres),
        await foundBy(search),
        await foundBy(search),
        await foundBy(postgres),
        await foundBy(search),
      ]).toEqual([anew, asLeft('postgres'), anew, asLeft('elasticsearch'), anew, anew]);
    } finally {
      await removeIndexes(indexPrefix);
      await database.drop();
    }
  });

  test('a late Elasticsearch is awaited, and its loss is reported', async () => {
    const database = await freshDatabase();
    await migrate({ databaseUrl: database.url, sets: SCHEMA });
    const proxy = await FaultProxy.start(new URL(url).host);
    const indexPrefix = freshPrefix();
    const throughProxy = new URL(proxy.urlThrough(url));
    const warnings: unknown[] = [];
    let heal = proxy.inflict({ kind: 'refuse' });
    const opening = openIndex(
      {
        engine: {
          kind: 'elasticsearch',
          url: throughProxy,
          login: null,
          indexPrefix,
          replicas: 0,
        },
        databaseUrl: new URL(database.url),
        searchTimeoutMs: 60_000,
        searchConnections: 1,
      },
      { warn: (...said: unknown[]) => void warnings.push(said) },
    );
    try {
      await until(async () => warnings.length > 1);
      heal();
      const { checks } = await opening;
      const isThere = async () =>
        (await Promise.allSettled(Object.values(checks).map((check) => check()))).map(({ status }) => status);
      await until(async () => (await isThere()).join() === 'fulfilled');
      heal = proxy.inflict({ kind: 'refuse' });
      proxy.reset();
      expect(await isThere()).toEqual(['rejected']);
      heal();
      await until(async () => (await isThere()).join() === 'fulfilled');
    } finally {
      heal();
      await (await opening).index.stop();
      await proxy.stop();
      await removeIndexes(indexPrefix);
      await database.drop();
    }
  });
}
