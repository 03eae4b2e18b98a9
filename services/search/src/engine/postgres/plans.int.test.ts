import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { aPostgresIndex, schemaIn } from '../../index/testing/a-postgres-index.ts';
import { aSearch, type SearchTraits } from '../../index/testing/a-search.ts';
import { anEntity, type EntityTraits } from '../../index/testing/an-entity.ts';
import type { Scope } from '../search-engine.ts';
import { READING } from './postgres-engine.ts';
import { searchSql } from './search-sql.ts';

interface Plan {
  'Index Name'?: string;
  'Subplan Name'?: string;
  Plans?: Plan[];
}

let tested: Awaited<ReturnType<typeof aPostgresIndex>>;
let reading: pg.Pool;
let schema: string;
beforeAll(async () => {
  tested = await aPostgresIndex();
  schema = await schemaIn(tested.pool);
  reading = new pg.Pool({ ...tested.pool.options, options: READING });
  const some = (from: number, count: number): EntityTraits[] =>
    Array.from({ length: count }, (_, n) => ({
      id: `r-${from + n}`,
      createdAt: 1_700_000_000 + from + n,
      ownerId: 'ann',
      metadata: { description: `water, and ${(from + n) * 7_919} ${(from + n) * 104_729}` },
    }));
  for (let from = 0; from < 2_000; from += 500)
    await tested.index.write({ entities: some(from, 500).map(anEntity) });
  await tested.pool.query('VACUUM (ANALYZE) index_document');
  // Pending entries make the index of terms look expensive.
  await tested.index.write({ entities: some(2_000, 60).map(anEntity) });
});
afterAll(async () => {
  await reading?.end();
  await tested?.stop();
});

/** The indexes by which a search finds its rows; undefined for a sequential scan. */
async function found(traits: SearchTraits): Promise<(string | undefined)[]> {
  const { text, values } = searchSql(aSearch({ ...traits, facets: ['category'] }), new Map(), schema);
  const { rows } = await reading.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(`EXPLAIN (FORMAT JSON) ${text}`, [
    ...values,
  ]);
  const leaves = (plan: Plan): Plan[] => (plan.Plans === undefined ? [plan] : plan.Plans.flatMap(leaves));
  const whole = rows[0]?.['QUERY PLAN'][0].Plan;
  const counting = whole?.Plans?.find((plan) => plan['Subplan Name'] === 'CTE counted');
  return leaves(counting as Plan).map((leaf) => leaf['Index Name']);
}

const SCOPES: Record<string, Partial<Scope>> = {
  'the latest published forms': { latestOnly: true },
  'all versions': { latestOnly: false },
  "one's own": { forms: 'own' },
};

describe.each(Object.entries(SCOPES))('among %s', (_which, scope) => {
  const viewer = { userId: 'ann' };

  test('a word that nearly everything has is looked for in its index, also when changes wait there', async () => {
    expect(await found({ q: 'water', scope, viewer })).toEqual(['index_document_terms']);
    expect(await found({ q: 'water 7919', scope, viewer })).toEqual(['index_document_terms']);
  });

  test('the terms are not read without words in the query', async () => {
    expect(await found({ q: '', scope, viewer })).not.toContain('index_document_terms');
  });
});
