import { migrate } from '@kr/schema-migration';
import { freshDatabase } from '@kr/testbed';
import pg from 'pg';
import { postgresEngine } from '../../engine/postgres/postgres-engine.ts';
import { schemaOf } from '../../engine/postgres/tables.ts';
import { SCHEMA } from '../../schema.ts';
import { openIndexState } from '../index-state.ts';
import { openSearchIndex } from '../search-index.ts';
import { type PatientIndex, type TestedIndex, useLiveTables, withTimeout } from './tested-index.ts';

/** The index in a database of the service. */
export async function openPostgresIndex(
  databaseUrl: string,
  { searchTimeoutMs = 60_000, maxConnections = 2 } = {},
): Promise<PatientIndex> {
  const engine = postgresEngine({ databaseUrl, searchTimeoutMs, maxConnections });
  const state = openIndexState({ databaseUrl, timeoutMs: searchTimeoutMs });
  return withTimeout(await openSearchIndex(engine, state), searchTimeoutMs);
}

/** An index with a separate database, and direct access to it: to the tables that were live at the beginning. */
export async function aPostgresIndex(searchTimeoutMs = 60_000): Promise<TestedIndex & { pool: pg.Pool }> {
  const database = await freshDatabase();
  await migrate({ databaseUrl: database.url, sets: SCHEMA });
  const index = await openPostgresIndex(database.url, { searchTimeoutMs });
  // Another connection would not know the tables.
  const pool = new pg.Pool({ connectionString: database.url, max: 1, idleTimeoutMillis: 0 });
  // Dropping the database may overtake the end of an idle connection.
  pool.on('error', () => {});
  await useLiveTables(pool);
  return {
    index,
    pool,
    clear: async () => {
      await useLiveTables(pool);
      await pool.query('TRUNCATE index_document CASCADE');
    },
    deleteGeneration: async (id) => {
      await pool.query(`DROP SCHEMA ${schemaOf(id)} CASCADE`);
    },
    stop: async () => {
      await Promise.all([index.stop(), pool.end()]);
      await database.drop();
    },
  };
}

/** The schema of the live generation. */
export async function schemaIn(pool: pg.Pool): Promise<string> {
  const { rows } = await pool.query<{ generation: string }>('SELECT generation FROM index_state');
  return schemaOf(rows[0]?.generation ?? '');
}
