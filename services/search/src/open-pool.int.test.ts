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
