import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { ServiceError } from '@kr/service-error';
import { seededRandom, until } from '@kr/testbed';
import { unpairedText } from '../../query/testing/chance-text.ts';
import { aSearch, aSuggest } from '../testing/a-search.ts';
import { anEntity } from '../testing/an-entity.ts';
import { describeSearchEngine } from '../testing/search-engine.contract.ts';
import { exchangeTimeoutMs } from './build-index.ts';
import { postgresEngine } from './postgres-engine.ts';
import { searchSql } from './search-sql.ts';
import { aPostgresEngine } from './testing/a-postgres-engine.ts';

describeSearchEngine('Postgres', () => aPostgresEngine());

test('a database that accepts connections without answering makes searches unavailable', async () => {
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

test('words are kept as Postgres itself would have written them, so that equal ones are found equal', async () => {
  const { engine, pool, stop } = await aPostgresEngine();
  try {
    const words = (count: number, kinds: number) =>
      Array.from({ length: count }, (_, n) => `w${(n * 7) % kinds}`).join(' ');
    const random = seededRandom(1);
    const titles = Array.from({ length: 40 }, () => `${unpairedText(random)} it's a\\b 3.14 Ä 日本`);
    const long = { title: 'long', metadata: { description: words(9_999, 40), version: words(9_999, 9_999) } };
    await engine.write({
      entities: [...titles.map((title) => ({ title })), long].map((one, n) =>
        anEntity({ id: `id-${n}`, ...one }),
      ),
    });
    const { rows } = await pool.query(
      'SELECT count(*)::integer AS written, count(*) FILTER (WHERE terms = terms::text::tsvector)::integer AS same FROM index_document',
    );
    expect(rows).toEqual([{ written: 41, same: 41 }]);
  } finally {
    await stop();
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

describe('the count of live documents', () => {
  test('is that of the rows, after any changes', async () => {
    const { engine, pool, clear, stop } = await aPostgresEngine();
    const entities = (...ids: string[]) => ids.map((id) => anEntity({ id }));
    const mark = { id: 'a', form: 'published', kind: 'record', parentId: 'p', revision: '1' } as const;
    const inRows = async () => {
      const { rows } = await pool.query('SELECT FROM index_document WHERE deleted_at IS NULL');
      return rows.length;
    };
    let build = '';
    const steps: Record<string, () => Promise<unknown>> = {
      written: () => engine.write({ entities: entities('a', 'b'), unannounced: entities('c') }),
      'written again': () => engine.write({ entities: entities('a', 'd') }),
      deleted: () => engine.write({ tombstones: [mark, { ...mark, id: 'never seen' }] }),
      return: () => engine.write({ entities: [anEntity({ id: 'a', revision: 2 })] }),
      removed: () => pool.query(`DELETE FROM index_document WHERE id IN ('b', 'never seen')`),
      'built beside': async () => {
        build = await engine.beginBuild();
        await engine.build(build, entities('a', 'e', 'f', 'g', 'h'));
        await engine.write({ entities: entities('i') });
      },
      'begun again': async () => {
        build = await engine.beginBuild();
        await engine.build(build, entities('a', 'e', 'f'));
        await engine.write({ tombstones: [{ ...mark, id: 'e' }] });
      },
      'in its place': () => engine.finishBuild(build),
      'written after that': () => engine.write({ entities: entities('j', 'k') }),
      emptied: clear,
      'filled again': () => engine.write({ entities: entities('a') }),
    };
    try {
      const counted: [string, number][] = [];
      const expected: [string, number][] = [];
      for (const [name, step] of Object.entries(steps)) {
        await step();
        counted.push([name, await engine.count()]);
        expected.push([name, await inRows()]);
      }
      expect(counted).toEqual(expected);
      expect(counted.map(([, count]) => count)).toEqual([3, 4, 3, 4, 3, 4, 4, 2, 4, 0, 1]);
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

  test('reads only its rows, in index order, and counts no facets without a request', async () => {
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
      // The index has the instants; the row at the position may be read too, and one after it.
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
  test('waits longer each time, until every running search has ended, and prepares once', async () => {
    const { engine, pool, stop } = await aPostgresEngine();
    const client = await pool.connect();
    try {
      await engine.write({ entities: [anEntity({ id: 'a' })] });
      const build = await engine.beginBuild();
      await client.query('BEGIN; LOCK TABLE index_document IN ACCESS SHARE MODE');
      for (const atLeastMs of [200, 400, 800]) {
        const begun = performance.now();
        await expect(engine.finishBuild(build)).rejects.toMatchObject({ code: '55P03' });
        expect(performance.now() - begun).toBeGreaterThan(atLeastMs - 1);
      }
      await client.query('ROLLBACK');
      const { rows } = await client.query(
        `SELECT relname, vacuum_count::integer AS times FROM pg_stat_all_tables
         WHERE schemaname = 'index_build' ORDER BY relname`,
      );
      const tables = ['index_box', 'index_document', 'index_facet_set', 'index_word'];
      expect(rows).toEqual(tables.map((relname) => ({ relname, times: 1 })));
      await engine.finishBuild(build);
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

describe('when another index is maintained meanwhile', () => {
  test('nothing is written, found, suggested or called filled, as long as it is', async () => {
    const { engine, pool, stop } = await aPostgresEngine();
    const keepUp = (name: string) => pool.query('UPDATE index_state SET kept_up = $1', [name]);
    try {
      await engine.markFilled();
      await keepUp('another');
      const write = () => engine.write({ entities: [anEntity({ id: 'a' })] });
      const search = () => engine.search(aSearch());
      const suggest = () => engine.suggest(aSuggest({ q: 'title' }));
      const refusals = [write, search, suggest, engine.isFilled, engine.beginBuild];
      for (const refused of refusals) await expect(refused()).rejects.toMatchObject({ kind: 'unavailable' });
      await keepUp('postgres');
      expect([await engine.count(), await engine.isFilled()]).toEqual([0, true]);
      await write();
      expect([(await search()).total, await suggest()]).toMatchObject([
        1,
        [{ value: 'Title of a', count: 1 }],
      ]);
    } finally {
      await stop();
    }
  });
});

describe('an index that was built again', () => {
  const SHAPE = `
    SELECT format('%s %s %s', c.relname, c.reloptions, pg_get_indexdef(c.oid)) AS part
    FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relname LIKE 'index\\_%'
    UNION ALL
    SELECT format('%s %s %s %s', conrelid::regclass, conname, convalidated, pg_get_constraintdef(oid))
    FROM pg_constraint WHERE connamespace = 'public'::regnamespace
    UNION ALL
    SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
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
      for (const isAlone of [true, false]) {
        await engine.finishBuild(await engine.beginBuild(), isAlone);
        expect((await pool.query(SHAPE)).rows).toEqual(before);
      }
      expect(before.length).toBeGreaterThan(30);
    } finally {
      await stop();
    }
  });
});

describe('an index that is being built', () => {
  const UNATTENDED = `
    SELECT count(*)::integer AS tables FROM pg_class
    WHERE relkind IN ('r', 't') AND 'autovacuum_enabled=off' = ANY (reloptions)`;

  test('is left alone by autovacuum, which pages would wait for, until it takes its place', async () => {
    const { engine, pool, stop } = await aPostgresEngine();
    const unattended = async () => (await pool.query(UNATTENDED)).rows;
    try {
      const build = await engine.beginBuild();
      // Four tables, each with its out-of-line storage.
      expect(await unattended()).toEqual([{ tables: 8 }]);
      await engine.finishBuild(build);
      expect(await unattended()).toEqual([{ tables: 0 }]);
    } finally {
      await stop();
    }
  });
});

describe('any query', () => {
  test('is answered or refused as invalid', async () => {
    const { engine, stop } = await aPostgresEngine();
    try {
      await engine.write({ entities: [anEntity({ id: 'a', title: 'flood' })] });
      const random = seededRandom(1);
      for (let n = 0; n < 1_000; n += 1) {
        const q = unpairedText(random);
        try {
          await engine.search(aSearch({ q, sort: 'bestmatch' }));
        } catch (error) {
          const kind = error instanceof ServiceError ? error.kind : error;
          expect({ q, kind }).toEqual({ q, kind: 'invalid' });
        }
      }
    } finally {
      await stop();
    }
  });
});
