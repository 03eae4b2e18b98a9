import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type FreshDatabase, freshDatabase } from '@kr/testbed';
import { Pool } from 'pg';
import { ONE_PLAN, type RawSql, statementNames, withQuickReads } from './index.ts';

let database: FreshDatabase;
let pool: Pool;
/** The statements that were left to the client. */
let left: string[];
let quick: RawSql<unknown>;

beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());
beforeEach(() => {
  pool = new Pool({ connectionString: database.url, max: 1, options: ONE_PLAN });
  pool.on('error', () => undefined);
  left = [];
  const client: RawSql<unknown> = {
    $queryRawUnsafe: async <Rows>(sql: string) => {
      left.push(sql);
      return [] as Rows;
    },
    $executeRawUnsafe: async () => 0,
    $transaction: async (run) => run('a transaction'),
  };
  quick = withQuickReads(client, pool, statementNames());
});

describe('a quick read', () => {
  test('gives values as the client does', async () => {
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
    const kept = await pool.query(
      'select generic_plans::int as once, custom_plans::int as again from pg_prepared_statements where statement like $1',
      ['select $1::int as n'],
    );
    expect(kept.rows).toEqual([{ once: 20, again: 0 }]);
    await pool.end();
  });

  test('that Postgres refuses throws what Postgres says, and is not repeated', async () => {
    await expect(quick.$queryRawUnsafe('select 1 / $1::int', 0)).rejects.toMatchObject({ code: '22012' });
    expect(left).toEqual([]);
    await pool.end();
  });

  test('whose connections are lost is left to the client', async () => {
    await pool.end();
    await quick.$queryRawUnsafe('select 1');
    expect(left).toEqual(['select 1']);
  });
});

describe('statement names', () => {
  test('tell texts apart, are the same for the same text, and end', () => {
    const nameOf = statementNames();
    const names = Array.from({ length: 300 }, (_, n) => nameOf({ sql: `select ${n}` }));
    expect(new Set(names.filter((name) => name !== '')).size).toBe(200);
    expect([nameOf({ sql: 'select 7' }), statementNames()({ sql: 'select 7' })]).toEqual([
      names[7],
      names[7],
    ]);
  });
});
