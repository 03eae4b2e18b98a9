import { until } from '@kr/testbed';
import type { ClientBase } from 'pg';

type Connection = Pick<ClientBase, 'query'>;

/** The schema of the live generation of the index, as soon as it was built from the services. */
export async function searchSchema(database: Connection): Promise<string> {
  return until(async () => {
    const { rows } = await database.query<{ schema: string }>(
      `select 'index_' || generation as schema from index_state where filled_at is not null`,
    );
    return rows[0]?.schema;
  });
}

/** From now on the statements of this connection mean the tables of the live generation. */
export async function useSearchTables(database: Connection): Promise<void> {
  await database.query(`set search_path = ${await searchSchema(database)}, public`);
}
