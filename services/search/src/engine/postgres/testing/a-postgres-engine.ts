import { MIGRATIONS } from '@kr/event-bus';
import { migrate } from '@kr/schema-migration';
import { freshDatabase } from '@kr/testbed';
import pg from 'pg';
import { SEARCH_MIGRATIONS } from '../../../migrations.ts';
import type { TestedEngine } from '../../testing/tested-engine.ts';
import { postgresEngine } from '../postgres-engine.ts';

/** An engine with a separate database, and direct access to it. */
export async function aPostgresEngine(searchTimeoutMs = 60_000): Promise<TestedEngine & { pool: pg.Pool }> {
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
