import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type FreshDatabase, freshDatabase } from '@kr/testbed';
import { openPool } from './active-index.ts';
import { inTurn } from './postgres/write-changes.ts';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

test('a connection that ends between two statements of a writer fails its work, and nothing else', async () => {
  const pool = openPool({ connectionString: database.url, max: 2 });
  try {
    const lost = inTurn(pool, async (client) => {
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
      const ended = new Promise<void>((heard) => client.once('end', () => heard()));
      await pool.query('select pg_terminate_backend($1)', [rows[0]?.pid]);
      await ended;
      await client.query('select');
    });
    await expect(lost).rejects.toThrow();
    await inTurn(pool, async (client) => void (await client.query('select')));
  } finally {
    await pool.end();
  }
});
