import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { ServiceError } from '@kr/service-error';
import { until } from '@kr/testbed';
import fc from 'fast-check';
import { aSearch } from '../testing/a-search.ts';
import { anEntity } from '../testing/an-entity.ts';
import { describeSearchEngine } from '../testing/search-engine.contract.ts';
import { exchangeTimeoutMs } from './build-index.ts';
import { postgresEngine } from './postgres-engine.ts';
import { searchSql } from './search-sql.ts';
import { aPostgresEngine } from './testing/a-postgres-engine.ts';

describeSearchEngine('Postgres', () => aPostgresEngine());

test('a database that takes connections and says nothing makes searches unavailable', async () => {
  const silent = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const databaseUrl = `postgres://nobody@127.0.0.1:${port}/nothing`;
  const engine = postgresEngine({ databaseUrl, searchTimeoutMs: 100, maxConnections: 1 });
  try {
    const refusal = { kind: 'unavailable', code: 'search_timeout' };
    await expect(engine.search(aSearch())).rejects.toMatchObject(refusal);
  } finally {
    await engine.stop();
    silent.close();
  }
});

describe('a search that takes too long', () => {
  test('answers that it is unavailable', async () => {
    const { engine, pool, stop } = await aPostgresEngine(100);
    try {
      await engine.write({ entities: [anEntity({ id: 'a' })] });
      const client = await pool.connect();
      try {
        await client.query('BEGIN');
        await client.query('LOCK TABLE index_document IN ACCESS EXCLUSIVE MODE');
        await expect(engine.search(aSearch())).rejects.toMatchObject({
          kind: 'unavailable',
          code: 'search_timeout',
          retryAfterMs: 1_000,
        });
      } finally {
        await client.query('ROLLBACK');
        client.release();
      }
      // On a busy machine an honest search may take as long.
      const found = await until(() => engine.search(aSearch()).catch(() => undefined));
      expect(found.total).toBe(1);
    } finally {
      await stop();
    }
  });
});

describe('a page of a large listing', () => {
  interface Plan {
    'Node Type': string;
    'Actual Rows': number;
    Plans?: Plan[];
  }
  const nodes = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodes)];

  test('reads its own rows alone, in the order of the index, and counts no facets that nobody asks for', async () => {
    const { engine, pool, stop } = await aPostgresEngine();
    try {
      const subjects = Array.from({ length: 20 }, (_, n) => ({ subject: `subject ${n}` }));
      const entities = Array.from({ length: 500 }, (_, n) =>
        anEntity({ id: `e${n}`, createdAt: 1_700_000_000 + n, metadata: { subjects } }),
      );
      await engine.write({ entities });
      await pool.query('ANALYZE index_document');
      const limit = 5;
      const search = aSearch({ sort: 'newest', limit, scope: { latestOnly: true } });
      const [after] = (await engine.search({ ...search, offset: 400, limit: 1 })).hits;
      if (after === undefined) throw new Error('no hit');
      const { text, values } = searchSql({ ...search, after }, new Map());
      const { rows } = await pool.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
        `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`,
        [...values],
      );
      const plan = nodes(rows[0]?.['QUERY PLAN'][0].Plan ?? { 'Node Type': 'none', 'Actual Rows': 0 });
      const page = plan.find((node) => node['Node Type'] === 'Limit');
      // The index knows the instants; the row at the place itself may come along, and one to see that they are over.
      const read = nodes(page ?? { 'Node Type': 'none', 'Actual Rows': Infinity });
      expect(Math.max(...read.map((node) => node['Actual Rows']))).toBeLessThanOrEqual(limit + 2);
      expect(plan.filter((node) => node['Node Type'] === 'Function Scan')).toEqual([]);
      expect(Math.max(...plan.map((node) => node['Actual Rows']))).toBe(500);
    } finally {
      await stop();
    }
  });
});

describe('the exchange of indexes', () => {
  test('waits longer each time, until every search that runs has come to its end', async () => {
    const { engine, pool, stop } = await aPostgresEngine();
    const client = await pool.connect();
    try {
      await engine.write({ entities: [anEntity({ id: 'a' })] });
      await engine.beginBuild();
      await client.query('BEGIN; LOCK TABLE index_document IN ACCESS SHARE MODE');
      for (const atLeastMs of [200, 400, 800]) {
        const begun = performance.now();
        await expect(engine.finishBuild()).rejects.toMatchObject({ code: '55P03' });
        expect(performance.now() - begun).toBeGreaterThan(atLeastMs - 1);
      }
      await client.query('ROLLBACK');
      await engine.finishBuild();
      expect(await engine.count()).toBe(0);
    } finally {
      client.release();
      await stop();
    }
  });

  test.each([
    [0, 2_000, 200],
    [1, 2_000, 400],
    [9, 2_000, 3_000],
    [9, 100, 1_100],
  ])('after %d failures, where a search may take %d ms, waits %d ms', (failures, searchTimeoutMs, waits) => {
    expect(exchangeTimeoutMs(failures, searchTimeoutMs)).toBe(waits);
  });
});

describe('when another index is kept up meanwhile', () => {
  test('nothing is written, found or called filled, as long as it is', async () => {
    const { engine, pool, stop } = await aPostgresEngine();
    const keepUp = (name: string) => pool.query('UPDATE index_state SET kept_up = $1', [name]);
    try {
      await engine.markFilled();
      await keepUp('another');
      const write = () => engine.write({ entities: [anEntity({ id: 'a' })] });
      const refusals = [write, () => engine.search(aSearch()), engine.isFilled, engine.beginBuild];
      for (const refused of refusals) await expect(refused()).rejects.toMatchObject({ kind: 'unavailable' });
      await keepUp('postgres');
      expect([await engine.count(), await engine.isFilled()]).toEqual([0, true]);
      await write();
      expect((await engine.search(aSearch())).total).toBe(1);
    } finally {
      await stop();
    }
  });
});

describe('an index that was built anew', () => {
  const SHAPE = `
    SELECT format('%s %s %s', c.relname, c.reloptions, pg_get_indexdef(c.oid)) AS part
    FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relname LIKE 'index\\_%'
    UNION ALL
    SELECT format('%s %s %s %s', conrelid::regclass, conname, convalidated, pg_get_constraintdef(oid))
    FROM pg_constraint WHERE connamespace = 'public'::regnamespace
    UNION ALL
    SELECT format('%s %s %s %s %s %s', attrelid::regclass, attname, atttypid::regtype, attnotnull, attstorage,
      pg_get_expr(adbin, adrelid))
    FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
    WHERE attrelid = ANY ('{index_document,index_box,index_word}'::regclass[]) AND attnum > 0 AND NOT attisdropped
    ORDER BY part`;

  test('has the shape that the migrations gave it, under the same names', async () => {
    const { engine, pool, stop } = await aPostgresEngine();
    try {
      const before = (await pool.query(SHAPE)).rows;
      await engine.beginBuild();
      await engine.finishBuild();
      expect((await pool.query(SHAPE)).rows).toEqual(before);
      expect(before.length).toBeGreaterThan(30);
    } finally {
      await stop();
    }
  });
});

describe('any query', () => {
  const scraps = fc.constantFrom(
    ...[
      'flood',
      'flo*',
      'fl\u00f6?d*',
      '10.5',
      "o'b",
      ' AND ',
      ' OR ',
      ' NOT ',
      '+',
      '-',
      '(',
      ')',
      '"',
      '"a b"~2',
      ' ',
    ],
    ...[
      'metadata.title:',
      'id:',
      'created:',
      'versions.index:',
      'metadata.publication_date:',
      '_exists_:',
      'x=y:',
    ],
    ...[
      '[1 TO 2]',
      '{2020 TO *}',
      '>=',
      '2020',
      '2020-02-30',
      '1',
      '^2',
      '^0',
      '\\',
      '\u0000',
      '\ud800',
      '日',
      '*',
      ':',
    ],
  );
  const texts = fc.array(scraps, { maxLength: 12 }).map((parts) => parts.join(''));

  test('is answered or refused as invalid', async () => {
    const { engine, stop } = await aPostgresEngine();
    try {
      await engine.write({ entities: [anEntity({ id: 'a', title: 'flood' })] });
      await fc.assert(
        fc.asyncProperty(texts, async (q) => {
          try {
            await engine.search(aSearch({ q, sort: 'bestmatch' }));
          } catch (error) {
            if (!(error instanceof ServiceError) || error.kind !== 'invalid') throw error;
          }
        }),
        { seed: 1, numRuns: 1_000 },
      );
    } finally {
      await stop();
    }
  });
});
