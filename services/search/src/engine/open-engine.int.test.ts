import { expect, test } from '@jest/globals';
import { MIGRATIONS } from '@kr/event-bus';
import { migrate } from '@kr/schema-migration';
import { freshDatabase, openElasticsearch } from '@kr/testbed';
import type { EngineConfig } from '../config.ts';
import { SEARCH_MIGRATIONS } from '../migrations.ts';
import { openEngine } from './open-engine.ts';
import { aSearch, idsOf } from './testing/a-search.ts';
import { anEntity } from './testing/an-entity.ts';

const elasticsearch = await openElasticsearch();
if ('missing' in elasticsearch) test.skip(`changing engines (${elasticsearch.missing})`, () => {});
else {
  const { url, freshPrefix, removeIndexes } = elasticsearch;
  test('an index is as it was left, unless another one was kept up meanwhile: then it begins anew', async () => {
    const database = await freshDatabase();
    await migrate({ databaseUrl: database.url, sets: [MIGRATIONS, SEARCH_MIGRATIONS] });
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
      openEngine({
        engine,
        databaseUrl: new URL(database.url),
        searchTimeoutMs: 60_000,
        searchConnections: 1,
      });
    /** What an engine finds when it is opened, before it is filled. */
    const foundBy = async (config: EngineConfig) => {
      const engine = await open(config);
      const ids = idsOf(await engine.search(aSearch()));
      const isFilled = await engine.isFilled();
      await engine.write({ entities: [anEntity({ id: config.kind })] });
      await engine.markFilled();
      await engine.stop();
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
}
