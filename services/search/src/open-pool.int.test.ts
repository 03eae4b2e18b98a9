import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { migrate } from '@kr/schema-migration';
import { type FreshDatabase, freshDatabase } from '@kr/testbed';
import type pg from 'pg';
import { openIndexState } from './index/index-state.ts';
import { openPool } from './open-pool.ts';
import { SCHEMA } from './schema.ts';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
  await migrate({ databaseUrl: database.url, sets: SCHEMA });
});
afterAll(() => database.drop());

test('every session notices a lost process; a writer neither waits nor is idle in a transaction without limit', async () => {
  const pool = openPool({ connectionString: database.url, options: '-c jit=off' });
  const state = openIndexState({ databaseUrl: database.url, timeoutMs: 60_000 });
  const limits = async ({ query }: Pick<pg.ClientBase, 'query'>, ...names: string[]) => {
    const { rows } = await query<{ name: string; setting: string }>(
      'SELECT name, setting FROM pg_settings WHERE name = ANY ($1)',
      [names],
    );
    return Object.fromEntries(rows.map(({ name, setting }) => [name, Number(setting)]));
  };
  try {
    const keepAlive = ['tcp_keepalives_idle', 'tcp_keepalives_interval', 'tcp_keepalives_count'];
    const lost = { tcp_keepalives_idle: 20, tcp_keepalives_interval: 5, tcp_keepalives_count: 4 };
    expect(await limits({ query: pool.query.bind(pool) }, ...keepAlive)).toEqual(lost);
    expect((await pool.query('SHOW jit')).rows).toEqual([{ jit: 'off' }]);
    const ofWriter = ['lock_timeout', 'statement_timeout', 'idle_in_transaction_session_timeout'];
    expect(
      await state.transact((tx) => limits({ query: tx.query.bind(tx) }, ...keepAlive, ...ofWriter)),
    ).toEqual({
      ...lost,
      lock_timeout: 30_000,
      statement_timeout: 60_000,
      idle_in_transaction_session_timeout: 300_000,
    });
  } finally {
    await Promise.all([pool.end(), state.stop()]);
  }
});

test('a connection that ends between two statements of a writer fails its work, and nothing else', async () => {
  const pool = openPool({ connectionString: database.url, max: 2 });
  const state = openIndexState({ databaseUrl: database.url, timeoutMs: 60_000 });
  try {
    const lost = state.transact(async (tx) => {
      const client = tx as pg.PoolClient;
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
      const ended = new Promise<void>((heard) => client.once('end', () => heard()));
      await pool.query('select pg_terminate_backend($1)', [rows[0]?.pid]);
      await ended;
      await client.query('select');
    });
    await expect(lost).rejects.toThrow();
    await state.transact(async (tx) => void (await tx.query('select')));
  } finally {
    await Promise.all([pool.end(), state.stop()]);
  }
});
