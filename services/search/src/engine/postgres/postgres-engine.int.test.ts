import { describe, expect, test } from '@jest/globals';
import { MIGRATIONS } from '@kr/event-bus';
import { migrate } from '@kr/schema-migration';
import { freshDatabase } from '@kr/testbed';
import pg from 'pg';
import { SEARCH_MIGRATIONS } from '../../migrations.ts';
import { aSearch } from '../testing/a-search.ts';
import { anEntity } from '../testing/an-entity.ts';
import { describeSearchEngine } from '../testing/search-engine.contract.ts';
import { postgresEngine } from './postgres-engine.ts';

async function makeEngine(searchTimeoutMs: number) {
  const database = await freshDatabase();
  await migrate({ databaseUrl: database.url, sets: [MIGRATIONS, SEARCH_MIGRATIONS] });
  const engine = postgresEngine({ databaseUrl: database.url, searchTimeoutMs, maxConnections: 2 });
  const pool = new pg.Pool({ connectionString: database.url, max: 1 });
  // Dropping the database may overtake the end of an idle connection.
  pool.on('error', () => {});
  return {
    engine,
    pool,
    clear: async () => {
      await pool.query('TRUNCATE index_document CASCADE');
    },
    stop: async () => {
      await Promise.all([engine.stop(), pool.end()]);
      await database.drop();
    },
  };
}

describeSearchEngine('Postgres', () => makeEngine(10_000));

describe('a search that takes too long', () => {
  test('answers that it is unavailable', async () => {
    const { engine, pool, stop } = await makeEngine(100);
    try {
      await engine.write({ entities: [anEntity({ id: 'a' })], tombstones: [] });
      const client = await pool.connect();
      await client.query('BEGIN');
      await client.query('LOCK TABLE index_document IN ACCESS EXCLUSIVE MODE');
      await expect(engine.search(aSearch())).rejects.toMatchObject({
        kind: 'unavailable',
        code: 'search_timeout',
        retryAfterMs: 1_000,
      });
      await client.query('ROLLBACK');
      client.release();
      expect((await engine.search(aSearch())).total).toBe(1);
    } finally {
      await stop();
    }
  });
});
