import { ServiceError } from '@kr/service-error';
import pg from 'pg';

type Queryable = Pick<pg.ClientBase, 'query'>;

/** The name of the index in the service's own database. */
export const POSTGRES = 'postgres';

/** The index that events were taken into the last time; others have missed what happened since they were. */
export async function keptUpIndex(database: Queryable): Promise<string | undefined> {
  const { rows } = await database.query<{ kept_up: string }>('SELECT kept_up FROM index_state');
  return rows[0]?.kept_up;
}

/** From now on events go into this index. The one in the database is emptied: it is another one, or begins anew. */
export async function keepUpIndex(database: Queryable, name: string): Promise<void> {
  await database.query('TRUNCATE index_document CASCADE');
  await database.query('UPDATE index_state SET kept_up = $1, filled_at = NULL', [name]);
}

/**
 * Of a process that has been given another engine or an older release than the one that has the say by now: what it
 * wrote would be missing there, and what it found is not kept up.
 */
export function keptUpElsewhere(): ServiceError {
  return new ServiceError('unavailable', 'Another index is kept up by now.', { retryAfterMs: 1_000 });
}

/** @throws ServiceError `unavailable` when events go into another index */
export async function demandKeptUp(database: Queryable, name: string): Promise<void> {
  if ((await keptUpIndex(database)) !== name) throw keptUpElsewhere();
}

/** Connections whose end is told by the statement that finds them ended; the pool makes others in their place. */
export function openPool(config: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool(config);
  // NOTE: an error event that nobody hears ends the process, of an idle connection and of one at work.
  pool.on('error', () => {});
  pool.on('connect', (connection) => connection.on('error', () => {}));
  return pool;
}
