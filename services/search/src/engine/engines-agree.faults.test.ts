import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ServiceError } from '@kr/service-error';
import { openElasticsearch, type TestElasticsearch } from '@kr/testbed';
import fc from 'fast-check';
import { scaled, seed } from '../../../../test/faults/scale.ts';
import { aPostgresIndex } from '../index/testing/a-postgres-index.ts';
import { aSearch, idsOf, type SearchTraits } from '../index/testing/a-search.ts';
import { anElasticsearchIndex } from '../index/testing/an-elasticsearch-index.ts';
import { anEntity } from '../index/testing/an-entity.ts';
import { anyCorpus, anySearch } from '../index/testing/any-search.ts';
import type { PatientIndex, TestedIndex } from '../index/testing/tested-index.ts';

const SEARCHES = scaled(300, 20_000);
/** The number of concurrent searches. */
const ABREAST = 4;
const PATIENCE_MS = scaled(300_000, 7_200_000);

const elasticsearch = await openElasticsearch();
if ('missing' in elasticsearch) test.skip(`the engines agree (${elasticsearch.missing})`, () => {});
else describe('both engines, and one of several shards,', () => describeOn(elasticsearch));

function describeOn(server: TestElasticsearch): void {
  let engines: readonly TestedIndex[];
  beforeAll(async () => {
    engines = [
      await aPostgresIndex(),
      await anElasticsearchIndex(server),
      await anElasticsearchIndex(server, { size: { shards: 3, replicas: 0 } }),
    ];
    const entities = anyCorpus(seed, 400).map(anEntity);
    for (const { index } of engines) {
      await index.write({ entities: entities.slice(0, 380), staged: entities.slice(380) });
    }
  });
  afterAll(async () => {
    for (const { stop } of engines ?? []) await stop();
  });

  test(
    'answer any search alike',
    async () => {
      const searches = fc.sample(anySearch, { seed, numRuns: SEARCHES });
      let found = 0;
      const inTurn = async () => {
        for (let traits = searches.pop(); traits !== undefined; traits = searches.pop()) {
          const [one, ...others] = await Promise.all(engines.map(({ index }) => answerOf(index, traits)));
          for (const other of others)
            expect({ seed, traits, answer: other }).toEqual({ seed, traits, answer: one });
          if (one !== undefined && 'total' in one && one.total > 0) found += 1;
        }
      };
      await Promise.all(Array.from({ length: ABREAST }, inTurn));
      // The order of an empty result is irrelevant.
      expect(found).toBeGreaterThan(SEARCHES / 3);
    },
    PATIENCE_MS,
  );
}

/** The common results of all engines; scores may differ. */
async function answerOf(index: PatientIndex, traits: SearchTraits) {
  try {
    const isRanked = traits.sort === 'bestmatch' && (traits.q ?? '') !== '';
    const asked = aSearch(isRanked ? { ...traits, offset: 0, limit: 1_000 } : traits);
    const { hits, missing, ...answer } = await index.search(asked);
    const ids = idsOf({ hits, missing, ...answer });
    return { ids: isRanked ? ids.sort() : ids, ...answer, missing: [...missing].sort() };
  } catch (error) {
    if (!(error instanceof ServiceError) || error.kind !== 'invalid') throw error;
    return { refused: error.issues };
  }
}
