import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { aPostgresIndex, schemaIn } from '../../index/testing/a-postgres-index.ts';
import { aSearch } from '../../index/testing/a-search.ts';
import { anEntity, type EntityTraits } from '../../index/testing/an-entity.ts';
import { facetSetReader } from './facets.ts';
import { MAX_RANKED } from './search-sql.ts';

const NEWER: readonly EntityTraits[] = Array.from({ length: 2 * MAX_RANKED }, (_, n) => ({
  id: `newer-${n}`,
  createdAt: 1_700_000_000 + n,
  title: 'Something else',
  metadata: { description: n % 2 === 0 ? 'water' : 'soil' },
}));
const OLDEST: readonly EntityTraits[] = [
  { id: 'both', createdAt: 1, title: 'Something', metadata: { description: 'soil and water' } },
  { id: 'title', createdAt: 2, title: 'Water' },
  { id: 'mention', createdAt: 3, title: 'Something', metadata: { description: 'water' } },
];

describe('of more matches than are ranked', () => {
  let tested: Awaited<ReturnType<typeof aPostgresIndex>>;
  beforeAll(async () => {
    tested = await aPostgresIndex();
    await tested.index.write({ entities: [...OLDEST, ...NEWER].map(anEntity) });
    await tested.pool.query('ANALYZE');
  });
  afterAll(() => tested?.stop());

  const find = async (q: string, page: { offset: number; limit: number }) => {
    const search = aSearch({ q, sort: 'bestmatch', ...page, scope: { latestOnly: true } });
    const { hits, total } = await tested.index.search(search);
    return { ids: hits.map(({ id }) => id), total };
  };

  test.each([
    ['water', 'title'],
    ['soil water', 'title'],
    ['soil water^9 other', 'title'],
    ['description:soil description:water', 'both'],
  ])('%j ranks an old document that matches best first', async (q, first) => {
    expect((await find(q, { offset: 0, limit: 1 })).ids).toEqual([first]);
  });

  test.each(['water', 'soil water', 'soil AND water', 'NOT fire'])(
    'the pages of %j contain each match once, for any number of ranked ones',
    async (q) => {
      const found: string[] = [];
      for (let offset = 0; offset < 3 * MAX_RANKED; offset += 70) {
        const { ids, total } = await find(q, { offset, limit: 70 });
        found.push(...ids);
        expect(ids.length).toBe(Math.max(0, Math.min(70, total - offset)));
      }
      expect(new Set(found).size).toBe(found.length);
    },
  );
});

describe('the contents of facet sets', () => {
  let tested: Awaited<ReturnType<typeof aPostgresIndex>>;
  let ids: number[];
  let schema: string;
  beforeAll(async () => {
    tested = await aPostgresIndex();
    // As after years of created and deleted drafts.
    await tested.pool.query(`SELECT setval('index_facet_set_id', 5000000000)`);
    const subjects = Array.from({ length: 8 }, (_, n) => ({ subject: `Subject ${n}` }));
    await tested.index.write({ entities: [anEntity({ id: 'a', metadata: { subjects } })] });
    const { rows } = await tested.pool.query<{ id: string }>('SELECT id FROM index_facet_set ORDER BY id');
    ids = rows.map(({ id }) => Number(id));
    schema = await schemaIn(tested.pool);
  });
  afterAll(() => tested?.stop());

  test('is counted, however great their ids', async () => {
    const { facets } = await tested.index.search(aSearch({ facets: ['category', 'subject'] }));
    expect(facets['category']).toEqual([{ value: 'open', count: 1 }]);
    expect(facets['subject']).toHaveLength(8);
  });

  test('is loaded once, even if one answer has more than the cache limit', async () => {
    const query = jest.spyOn(tested.pool, 'query');
    try {
      const reader = facetSetReader(1);
      await reader.read(tested.pool, schema, ids);
      expect([...(await reader.read(tested.pool, schema, ids)).keys()]).toEqual(ids);
      expect(query).toHaveBeenCalledTimes(1);
    } finally {
      query.mockRestore();
    }
  });

  test('is evicted without mixing objects of before and after', async () => {
    await tested.pool.query(`UPDATE index_facet_set SET entries = '{category=open}'`);
    const [first, second, third = 0, ...further] = ids as [number, number, ...number[]];
    const reader = facetSetReader(4);
    await reader.read(tested.pool, schema, [first]);
    // The database has one connection and answers them in order: the last of these is under way when the others are there.
    const before = further.slice(0, 4).map((id) => reader.read(tested.pool, schema, [id]));
    const underWay = reader.read(tested.pool, schema, [first, second]);
    await Promise.all(before);
    await reader.read(tested.pool, schema, [third]);
    const sets = await underWay;
    expect(sets.get(first)?.[0]).toBeDefined();
    expect(sets.get(second)?.[0]).toBe(sets.get(first)?.[0]);
  });
});

test('an id of a deleted facet set is distinguished from a cached one', async () => {
  const { index, pool, stop } = await aPostgresIndex();
  try {
    await index.write({ entities: [anEntity({ id: 'a' })] });
    const { rows } = await pool.query<{ id: string }>('SELECT id FROM index_facet_set');
    const ids = rows.map(({ id }) => Number(id));
    const reader = facetSetReader();
    const schema = await schemaIn(pool);
    expect([...(await reader.read(pool, schema, ids)).keys()]).toEqual(ids);
    await pool.query('DELETE FROM index_facet_set');
    expect(await reader.read(pool, schema, ids)).toBeDefined();
    await expect(facetSetReader().read(pool, schema, ids)).rejects.toThrow('facet sets that it lacks');
  } finally {
    await stop();
  }
});
