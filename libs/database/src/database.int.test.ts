import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { isTransient } from '@kr/service-error';
import { FaultProxy, type FreshDatabase, freshDatabase, until } from '@kr/testbed';
import { Client, Pool, type PoolClient } from 'pg';
import {
  executeWithNext,
  ONE_PLAN,
  openPool,
  quickDatabase,
  type SqlDatabase,
  statementNames,
} from './index.ts';

let database: FreshDatabase;
let pool: Pool;
let quick: SqlDatabase;

beforeAll(async () => {
  database = await freshDatabase();
  const setup = new Pool({ connectionString: database.url });
  await setup.query('create table numbers (n int primary key)');
  await setup.end();
});
afterAll(() => database.drop());
beforeEach(() => {
  pool = new Pool({ connectionString: database.url, max: 1, options: ONE_PLAN, pipeline: true });
  pool.on('error', () => undefined);
  quick = quickDatabase(pool, statementNames());
});

describe('a quick read', () => {
  test('returns values as the client does', async () => {
    const rows = await quick.$queryRawUnsafe(
      `select $1::text[] as texts, 7::bigint as revision, 8 as number, '{"a": [1]}'::jsonb as document,
              '2026-11-21T06:54:43Z'::timestamptz as at, null as nothing`,
      ['a', 'b,"c'],
    );
    expect(rows).toEqual([
      {
        texts: ['a', 'b,"c'],
        revision: 7n,
        number: 8,
        document: { a: [1] },
        at: new Date('2026-11-21T06:54:43Z'),
        nothing: null,
      },
    ]);
    await pool.end();
  });

  test('is parsed and planned once for each connection', async () => {
    for (let n = 0; n < 20; n += 1) await quick.$queryRawUnsafe('select $1::int as n', n);
    const counted = await pool.query(
      'select generic_plans::int as once, custom_plans::int as again from pg_prepared_statements where statement like $1',
      ['select $1::int as n'],
    );
    expect(counted.rows).toEqual([{ once: 20, again: 0 }]);
    await pool.end();
  });

  test('returns rows also if it returned none before, or has no name', async () => {
    const nameless = quickDatabase(pool, () => '');
    for (const limit of [0, 2, 0, 1]) {
      const rows = Array.from({ length: limit }, (_, at) => ({ n: at + 1 }));
      const read = (by: SqlDatabase) =>
        by.$queryRawUnsafe('select n from generate_series(1, 2) n limit $1', limit);
      expect([await read(quick), await read(nameless)]).toEqual([rows, rows]);
    }
    await pool.end();
  });

  test('that failed to parse fails again, and does not affect other statements', async () => {
    for (let n = 0; n < 2; n += 1)
      await expect(quick.$queryRawUnsafe('selec $1::int', n)).rejects.toMatchObject({ code: '42601' });
    await expect(quick.$queryRawUnsafe('select 1 as one')).resolves.toEqual([{ one: 1 }]);
    await pool.end();
  });

  test('that Postgres rejects throws the error of Postgres', async () => {
    await expect(quick.$queryRawUnsafe('select 1 / $1::int', 0)).rejects.toMatchObject({ code: '22012' });
    await pool.end();
  });

  test('that finds its connection closed uses another one', async () => {
    const [own] = await quick.$queryRawUnsafe<{ pid: number }[]>('select pg_backend_pid() as pid');
    const killer = new Client({ connectionString: database.url });
    await killer.connect();
    await killer.query('select pg_terminate_backend($1, 5000)', [own?.pid]);
    await killer.end();
    await expect(quick.$queryRawUnsafe('select 1 as one')).resolves.toEqual([{ one: 1 }]);
    await pool.end();
  });
});

describe('a quick statement that writes and answers with rows', () => {
  test('is not tried again when its connection is lost: it may have been carried out', async () => {
    // A sequence counts the attempts because a rollback does not reset it.
    await quick.$executeRawUnsafe('create sequence tries');
    const written = quick.$queryRawUnsafe(
      `insert into numbers (n) select nextval('tries') from (select pg_terminate_backend(pg_backend_pid()) offset 0) cut
       returning n`,
    );
    const failure = await written.catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: expect.stringMatching(/^(ECONNRESET|ECONNREFUSED|57P01)$/) });
    const [tries] = await quick.$queryRawUnsafe<object[]>('select last_value::int as count from tries');
    expect(tries).toEqual({ count: 1 });
    await pool.end();
  });
});

describe('a quick transaction', () => {
  const numbers = async () => {
    const rows = await quick.$queryRawUnsafe<{ n: number }[]>('select n from numbers order by n');
    return rows.map(({ n }) => n);
  };
  const insert = (sql: Pick<SqlDatabase, '$executeRawUnsafe'>, n: number) =>
    sql.$executeRawUnsafe('insert into numbers (n) values ($1::int)', n);
  beforeEach(() => quick.$executeRawUnsafe('delete from numbers'));
  afterEach(() => pool.end());

  test('commits all its writes and returns the number of changed rows', async () => {
    const counts = await quick.$transaction(async (tx) => [await insert(tx, 1), await insert(tx, 2)]);
    expect([counts, await numbers()]).toEqual([
      [1, 1],
      [1, 2],
    ]);
  });

  test('that throws leaves nothing, and its connection to the next', async () => {
    const failed = quick.$transaction(async (tx) => {
      await insert(tx, 3);
      throw new RangeError('enough');
    });
    await expect(failed).rejects.toThrow(new RangeError('enough'));
    expect(await numbers()).toEqual([]);
  });

  test('never counts as done when one of its statements failed, caught or not', async () => {
    const swallowing = quick.$transaction(async (tx) => {
      await insert(tx, 4);
      await insert(tx, 4).catch(() => undefined);
    });
    await expect(swallowing).rejects.toThrow('cannot be committed');
    expect(await numbers()).toEqual([]);
  });

  test('whose statements go together has them carried out in order, each after the one before', async () => {
    const [, , seen] = await quick.$transaction((tx) =>
      Promise.all([insert(tx, 7), insert(tx, 8), tx.$queryRawUnsafe('select n from numbers order by n')]),
    );
    expect(seen).toEqual([{ n: 7 }, { n: 8 }]);
    expect(await numbers()).toEqual([7, 8]);
  });

  test('with pipelined statements reads the changes of another one that it waited for', async () => {
    await insert(quick, 9);
    const other = new Client({ connectionString: database.url });
    await other.connect();
    await other.query('begin; update numbers set n = n + 100');
    const reading = quick.$transaction(async (tx) => {
      const [, rows] = await Promise.all([
        tx.$queryRawUnsafe('select n from numbers for update'),
        tx.$queryRawUnsafe('select n from numbers'),
      ]);
      return rows;
    });
    await until(async () => {
      const { rows } = await other.query(
        "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
      );
      return rows.length > 0;
    });
    await other.query('commit');
    expect(await reading).toEqual([{ n: 109 }]);
    await other.end();
  });

  test('that fails at its first statement never continues outside of the transaction', async () => {
    const going = quick.$transaction(async (tx) => {
      await tx.$queryRawUnsafe('select 1 / $1::int', 0).catch(() => undefined);
      await insert(tx, 10).catch(() => undefined);
    });
    await expect(going).rejects.toThrow('cannot be committed');
    expect(await numbers()).toEqual([]);
  });

  test('with pipelined statements runs none after a failure, and is rolled back', async () => {
    const outcomes = await quick
      .$transaction(async (tx) => {
        const all = await Promise.allSettled([insert(tx, 11), insert(tx, 11), insert(tx, 12)]);
        throw Object.assign(new Error('enough'), { all });
      })
      .catch(({ all }: { all: PromiseSettledResult<number>[] }) => all);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
    expect(await numbers()).toEqual([]);
  });

  test('runs deferred statements before the next one, and the last with COMMIT', async () => {
    const seen = await quick.$transaction(async (tx) => {
      await executeWithNext(tx, 'insert into numbers (n) values ($1::int)', 13);
      const rows = await tx.$queryRawUnsafe('select n from numbers');
      await executeWithNext(tx, 'insert into numbers (n) values ($1::int)', 14);
      return rows;
    });
    expect([seen, await numbers()]).toEqual([[{ n: 13 }], [13, 14]]);
  });

  test('fails with the error of a statement sent with COMMIT, and leaves nothing', async () => {
    const failed = quick.$transaction(async (tx) => {
      await insert(tx, 15);
      await executeWithNext(tx, 'insert into numbers (n) values ($1::int)', 15);
    });
    await expect(failed).rejects.toMatchObject({ code: '23505' });
    expect(await numbers()).toEqual([]);
  });

  test('that throws never runs a deferred statement', async () => {
    const failed = quick.$transaction(async (tx) => {
      await executeWithNext(tx, 'insert into numbers (n) values ($1::int)', 16);
      throw new RangeError('enough');
    });
    await expect(failed).rejects.toThrow(new RangeError('enough'));
    expect(await numbers()).toEqual([]);
  });

  test.each<[when: string, before: boolean]>([
    ['before its work', true],
    ['before it commits', false],
  ])('whose connection is cut %s fails as something transient, and the next one works', async (_, before) => {
    const cut = quick.$transaction(async (tx) => {
      if (!before) await insert(tx, 5);
      await tx.$queryRawUnsafe('select pg_terminate_backend(pg_backend_pid())').catch(() => undefined);
      if (before) await insert(tx, 5);
    });
    const failure = await cut.catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: expect.stringMatching(/^(ECONNRESET|ECONNREFUSED|57P01)$/) });
    expect(await numbers()).toEqual([]);
  });

  test.each([0, 1])(
    'that throws beside a statement that was not awaited rolls it back: %i sent before',
    async (before) => {
      let late: Promise<unknown> | undefined;
      const failing = quick.$transaction(async (tx) => {
        for (let n = 0; n < before; n += 1) await tx.$queryRawUnsafe('select 1');
        late = tx.$executeRawUnsafe('insert into numbers values ($1)', 70);
        late.catch(() => undefined);
        throw new Error('changed my mind');
      });
      await expect(failing).rejects.toThrow('changed my mind');
      await late?.catch(() => undefined);
      await quick.$executeRawUnsafe('insert into numbers values ($1)', 71);
      const other = new Client(database.url);
      await other.connect();
      const { rows } = await other.query('select n from numbers where n in (70, 71)');
      await other.query('delete from numbers where n = 71');
      await other.end();
      expect(rows).toEqual([{ n: 71 }]);
    },
  );

  test('that lasts too long is cut, and the database undoes it', async () => {
    const long = quick.$transaction(
      async (tx) => {
        await insert(tx, 6);
        await tx.$queryRawUnsafe('select pg_sleep(60)::text');
      },
      { timeout: 50 },
    );
    const failure = await long.catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: expect.stringMatching(/^(ECONNRESET|ECONNREFUSED|57P01)$/) });
    expect(await numbers()).toEqual([]);
  });

  test('without a database is something transient', async () => {
    const nowhere = quickDatabase(
      new Pool({ connectionString: 'postgresql://x:y@127.0.0.1:1/z' }),
      statementNames(),
    );
    const failure = await nowhere.$transaction(async () => undefined).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: expect.stringMatching(/^(ECONNRESET|ECONNREFUSED|57P01)$/) });
  });
});

describe('an opened pool', () => {
  test('outlives the end of an idle connection', async () => {
    const opened = openPool(new URL(database.url));
    const { rows } = await opened.query<{ pid: number }>('select pg_backend_pid() as pid');
    expect(opened.idleCount).toBe(1);
    await quick.$queryRawUnsafe('select pg_terminate_backend($1::int, 5000)', rows[0]?.pid);
    await until(() => opened.totalCount === 0);
    expect((await opened.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    await opened.end();
    await pool.end();
  });
});

describe('a statement on an opened pool', () => {
  test('that gets no connection, because others have them all, fails as something transient', async () => {
    const opened = openPool(new URL(database.url), {
      connectionMs: 1_000,
      statementMs: 60_000,
      lockMs: 1_000,
    });
    const others: PoolClient[] = [];
    // On a busy machine also one that there is may take longer.
    while (others.length < 10) others.push(await until(() => opened.connect()));
    const failure: unknown = await opened.query('select 1').catch((error: unknown) => error);
    expect(isTransient(failure)).toBe(true);
    for (const other of others) other.release();
    await opened.end();
    await pool.end();
  });

  test.each(['reset', 'stop'] as const)(
    'whose connection is lost by a %s fails as something transient',
    async (way) => {
      const proxy = await FaultProxy.start(new URL(database.url).host);
      const opened = openPool(new URL(proxy.urlThrough(database.url)));
      const pending = opened.query('select pg_sleep(60)').catch((error: unknown) => error);
      await until(async () => {
        const { rows } = await pool.query<{ n: number }>(
          `select count(*)::int as n from pg_stat_activity where query like 'select pg_sleep(60)%' and state = 'active'`,
        );
        return rows[0]?.n === 1;
      });
      await proxy[way]();
      expect(isTransient(await pending)).toBe(true);
      await opened.end();
      await pool.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where query = 'select pg_sleep(60)'`,
      );
      await proxy.stop();
      await pool.end();
    },
  );
});

describe('statement names', () => {
  test('differ for different texts, are equal for equal texts, and are limited in number', () => {
    const nameOf = statementNames();
    const names = Array.from({ length: 300 }, (_, n) => nameOf({ sql: `select ${n}` }));
    expect(new Set(names.filter((name) => name !== '')).size).toBe(200);
    expect([nameOf({ sql: 'select 7' }), statementNames()({ sql: 'select 7' })]).toEqual([
      names[7],
      names[7],
    ]);
  });
});
