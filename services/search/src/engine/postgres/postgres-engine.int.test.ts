import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { ServiceError } from '@kr/service-error';
import { seededRandom, until } from '@kr/testbed';
import { aPostgresIndex, openPostgresIndex, schemaIn } from '../../index/testing/a-postgres-index.ts';
import { aSearch, aSuggest, idsOf } from '../../index/testing/a-search.ts';
import { anEntity } from '../../index/testing/an-entity.ts';
import { describeSearchIndex } from '../../index/testing/search-index.contract.ts';
import { fill, useLiveTables } from '../../index/testing/tested-index.ts';
import { unpairedText } from '../../query/testing/chance-text.ts';
import { deadlineIn } from '../deadline.ts';
import { postgresEngine } from './postgres-engine.ts';
import { searchSql } from './search-sql.ts';
import { schemaOf } from './tables.ts';

describeSearchIndex('Postgres', () => aPostgresIndex());

test('a database that accepts connections without answering makes searches unavailable', async () => {
  const silent = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const databaseUrl = `postgres://nobody@127.0.0.1:${port}/nothing`;
  const engine = postgresEngine({ databaseUrl, searchTimeoutMs: 100, maxConnections: 1 });
  try {
    const refusal = { kind: 'unavailable', code: 'search_timeout' };
    await expect(engine.search('none', aSearch(), deadlineIn(100))).rejects.toMatchObject(refusal);
  } finally {
    await engine.stop();
    silent.close();
  }
});

test('terms are stored in the form that Postgres itself writes, so that equal ones compare equal', async () => {
  const { index, pool, stop } = await aPostgresIndex();
  try {
    const words = (count: number, kinds: number) =>
      Array.from({ length: count }, (_, n) => `w${(n * 7) % kinds}`).join(' ');
    const random = seededRandom(1);
    const titles = Array.from({ length: 40 }, () => `${unpairedText(random)} it's a\\b 3.14 Ä 日本`);
    const long = { title: 'long', metadata: { description: words(9_999, 40), version: words(9_999, 9_999) } };
    await index.write({
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
    const { index, pool, stop } = await aPostgresIndex(100);
    try {
      await index.write({ entities: [anEntity({ id: 'a' })] });
      const client = await pool.connect();
      try {
        await client.query('BEGIN');
        await client.query('LOCK TABLE index_document IN ACCESS EXCLUSIVE MODE');
        await expect(index.search(aSearch())).rejects.toMatchObject({
          kind: 'unavailable',
          code: 'search_timeout',
          retryAfterMs: 1_000,
        });
      } finally {
        await client.query('ROLLBACK');
        client.release();
      }
      // On a busy machine an honest search may take as long.
      const found = await until(() => index.search(aSearch()).catch(() => undefined));
      expect(found.total).toBe(1);
    } finally {
      await stop();
    }
  });
});

describe('the count of live documents', () => {
  test('is that of the rows, after any changes', async () => {
    const { index, pool, clear, stop } = await aPostgresIndex();
    const entities = (...ids: string[]) => ids.map((id) => anEntity({ id }));
    const mark = { id: 'a', form: 'published', kind: 'record', parentId: 'p', revision: '1' } as const;
    const inRows = async () => {
      const { rows } = await pool.query('SELECT FROM index_document WHERE deleted_at IS NULL');
      return rows.length;
    };
    let build = '';
    const steps: Record<string, () => Promise<unknown>> = {
      written: () => index.write({ entities: entities('a', 'b'), staged: entities('c') }),
      'written again': () => index.write({ entities: entities('a', 'd') }),
      deleted: () => index.write({ tombstones: [mark, { ...mark, id: 'never seen' }] }),
      return: () => index.write({ entities: [anEntity({ id: 'a', revision: 2 })] }),
      removed: () => pool.query(`DELETE FROM index_document WHERE id IN ('b', 'never seen')`),
      'built beside': async () => {
        build = await index.startBuild();
        await index.build(build, entities('a', 'e', 'f', 'g', 'h'));
        await index.write({ entities: entities('i') });
      },
      'begun again': async () => {
        build = await index.startBuild();
        await index.build(build, entities('a', 'e', 'f'));
        await index.write({ tombstones: [{ ...mark, id: 'e' }] });
      },
      'in its place': async () => {
        await index.finishBuild(build);
        await useLiveTables(pool);
      },
      'written after that': () => index.write({ entities: entities('j', 'k') }),
      emptied: clear,
      'filled again': () => index.write({ entities: entities('a') }),
    };
    try {
      const counted: [string, number][] = [];
      const expected: [string, number][] = [];
      for (const [name, step] of Object.entries(steps)) {
        await step();
        counted.push([name, await index.count()]);
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
    const { index, pool, stop } = await aPostgresIndex();
    try {
      const subjects = Array.from({ length: 20 }, (_, n) => ({ subject: `subject ${n}` }));
      const entities = Array.from({ length: 500 }, (_, n) =>
        anEntity({ id: `e${n}`, createdAt: 1_700_000_000 + n, metadata: { subjects } }),
      );
      await index.write({ entities });
      await pool.query('ANALYZE index_document');
      const limit = 5;
      const search = aSearch({ sort: 'newest', limit, scope: { latestOnly: true } });
      const [after] = (await index.search({ ...search, offset: 400, limit: 1 })).hits;
      if (after === undefined) throw new Error('no hit');
      const { text, values } = searchSql({ ...search, after }, new Map(), await schemaIn(pool));
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

describe('the switch to another generation', () => {
  test('waits for no search, and the former one is dropped when none uses it', async () => {
    const { index, pool, stop } = await aPostgresIndex();
    const client = await pool.connect();
    try {
      await index.write({ entities: [anEntity({ id: 'a' })] });
      const build = await index.startBuild();
      await client.query('BEGIN; LOCK TABLE index_document IN ACCESS SHARE MODE');
      await index.build(build, [anEntity({ id: 'b' })]);
      await index.finishBuild(build);
      expect(idsOf(await index.search(aSearch()))).toEqual(['b']);
      await expect(index.dropFormer()).rejects.toMatchObject({ code: '55P03' });
      await client.query('ROLLBACK');
      await index.dropFormer();
      const { rows } = await client.query(
        `SELECT nspname FROM pg_namespace WHERE starts_with(nspname, 'index_')`,
      );
      expect(rows).toEqual([{ nspname: schemaOf(build) }]);
      expect(idsOf(await index.search(aSearch()))).toEqual(['b']);
    } finally {
      client.release();
      await stop();
    }
  });

  test('leaves no limit of lock waits to the next build', async () => {
    const { index, pool, stop } = await aPostgresIndex();
    const client = await pool.connect();
    try {
      await fill(index);
      await index.dropFormer();
      const build = await index.startBuild();
      await client.query(`BEGIN; LOCK TABLE ${schemaOf(build)}.index_document IN ROW EXCLUSIVE MODE`);
      const finishing = index.finishBuild(build);
      // Longer than dropping a generation waits.
      await Promise.race([finishing, pause(1_500)]);
      await client.query('ROLLBACK');
      await finishing;
      expect(await index.isLive(build)).toBe(true);
    } finally {
      client.release();
      await stop();
    }
  });

  test('does not drop schemas of operators', async () => {
    const { index, pool, stop } = await aPostgresIndex();
    const schemas = ['index_backup', 'index_0', 'index_00backupoflastweek', 'index_00000000_left'];
    try {
      for (const schema of schemas) await pool.query(`CREATE SCHEMA ${schema}`);
      await pool.query('CREATE SCHEMA index_00000000000000');
      await fill(index);
      await index.dropFormer();
      const { rows } = await pool.query<{ name: string }>(
        `SELECT nspname AS name FROM pg_namespace WHERE starts_with(nspname, 'index_') ORDER BY 1`,
      );
      expect(rows.map(({ name }) => name)).toEqual([...schemas, await schemaIn(pool)].sort());
    } finally {
      await stop();
    }
  });

  test('reaches other processes with their next search', async () => {
    const { index, pool, stop } = await aPostgresIndex();
    const other = await openPostgresIndex(String(pool.options.connectionString));
    try {
      await index.write({ entities: [anEntity({ id: 'a' })] });
      expect(idsOf(await other.search(aSearch()))).toEqual(['a']);
      for (const isDropped of [false, true]) {
        await fill(index, [anEntity({ id: 'b' }), ...(isDropped ? [anEntity({ id: 'c' })] : [])]);
        if (isDropped) await index.dropFormer();
        expect((await other.suggest(aSuggest({ q: 'title' }))).map(({ value }) => value)).toEqual(
          isDropped ? ['Title of b', 'Title of c'] : ['Title of b'],
        );
      }
      expect(idsOf(await other.search(aSearch()))).toEqual(['b', 'c']);
    } finally {
      await other.stop();
      await stop();
    }
  });
});

describe('when another engine has the live generation', () => {
  test('nothing is written, found, suggested or called filled, as long as it is', async () => {
    const { index, pool, stop } = await aPostgresIndex();
    const setEngine = (name: string) => pool.query('UPDATE index_state SET engine = $1', [name]);
    try {
      await fill(index);
      await useLiveTables(pool);
      await setEngine('another');
      const write = () => index.write({ entities: [anEntity({ id: 'a' })] });
      const search = () => index.search(aSearch());
      const suggest = () => index.suggest(aSuggest({ q: 'title' }));
      const refusals = [write, search, suggest, index.isFilled, index.startBuild];
      for (const refused of refusals) await expect(refused()).rejects.toMatchObject({ kind: 'unavailable' });
      await setEngine('postgres');
      expect([await index.count(), await index.isFilled()]).toEqual([0, true]);
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

describe('a generation', () => {
  const SHAPE = `
    SELECT format('%s %s %s', c.relname, c.reloptions, replace(pg_get_indexdef(c.oid), $1 || '.', '')) AS part
    FROM pg_class c WHERE c.relnamespace = $1::regnamespace AND c.relname LIKE 'index\\_%'
    UNION ALL
    SELECT format('%s %s %s', conrelid::regclass, conname, convalidated)
    FROM pg_constraint WHERE connamespace = $1::regnamespace
    ORDER BY part`;

  test('has the same shape, however it was built', async () => {
    const { index, pool, stop } = await aPostgresIndex();
    const shape = async () => {
      await useLiveTables(pool);
      return (await pool.query(SHAPE, [await schemaIn(pool)])).rows;
    };
    try {
      const before = await shape();
      for (const isIdle of [true, false]) {
        await index.finishBuild(await index.startBuild(), isIdle);
        expect(await shape()).toEqual(before);
      }
      expect(before.length).toBeGreaterThan(20);
    } finally {
      await stop();
    }
  });
});

describe('an index that is being built', () => {
  const UNATTENDED = `
    SELECT count(*)::integer AS tables FROM pg_class
    WHERE relkind IN ('r', 't') AND 'autovacuum_enabled=off' = ANY (reloptions)`;

  test('has no autovacuum, which would delay pages, until it is live', async () => {
    const { index, pool, stop } = await aPostgresIndex();
    const unattended = async () => (await pool.query(UNATTENDED)).rows;
    try {
      const build = await index.startBuild();
      // Four tables, each with its out-of-line storage.
      expect(await unattended()).toEqual([{ tables: 8 }]);
      await index.finishBuild(build);
      expect(await unattended()).toEqual([{ tables: 0 }]);
    } finally {
      await stop();
    }
  });
});

describe('any query', () => {
  test('is answered or refused as invalid', async () => {
    const { index, stop } = await aPostgresIndex();
    try {
      await index.write({ entities: [anEntity({ id: 'a', title: 'flood' })] });
      const random = seededRandom(1);
      for (let n = 0; n < 1_000; n += 1) {
        const q = unpairedText(random);
        try {
          await index.search(aSearch({ q, sort: 'bestmatch' }));
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
