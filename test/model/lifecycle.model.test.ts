import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openElasticsearch } from '@kr/testbed';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import { runModel } from './run-model.ts';

const elasticsearch = await openElasticsearch();

describe('with the index in Postgres', () => describeModel(30, {}));
if ('missing' in elasticsearch)
  test.skip(`with the index in Elasticsearch (${elasticsearch.missing})`, () => {});
else {
  const { url, freshPrefix, removeIndexes } = elasticsearch;
  const prefix = freshPrefix();
  describe('with the index in Elasticsearch', () => {
    describeModel(8, {
      SEARCH_ENGINE: 'elasticsearch',
      ELASTICSEARCH_URL: url,
      ELASTICSEARCH_INDEX_PREFIX: prefix,
      ELASTICSEARCH_REPLICAS: '0',
    });
    afterAll(() => removeIndexes(prefix));
  });
}

function describeModel(runs: number, environment: Record<string, string>): void {
  let system: TestSystem;
  beforeAll(async () => {
    system = await startSystem({ environment, settings: { searchTimeoutMs: 30_000 } });
  });
  afterAll(() => system?.stop());

  test('the system answers as the reference model, for any actions in any order', async () => {
    // The same stories every time; `npm run test:model` goes on to others.
    const { counterexamples } = await runModel(system, {
      runs,
      maxCommands: 80,
      workers: 4,
      seed: 1,
      timeLimitMs: 120_000,
    });
    expect(counterexamples).toEqual([]);
  });

  test('the index is as the services are, without repair', () => system.assertNoDrift());
}
