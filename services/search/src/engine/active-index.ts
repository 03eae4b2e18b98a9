import { ServiceError } from '@kr/service-error';
import pg from 'pg';

type Queryable = Pick<pg.ClientBase, 'query'>;

/** The name of the index in the service's own database. */
export const POSTGRES = 'postgres';

/** The index that events were taken into the last time; others have missed what happened since they were. */
export async function activeIndex(database: Queryable): Promise<string | undefined> {
  const { rows } = await database.query<{ kept_up: string }>('SELECT kept_up FROM index_state');
  return rows[0]?.kept_up;
}

/**
 * From now on events go into this index. The one in the database is emptied: it is another one, or starts
 * again.
 */
export async function keepUpIndex(database: Queryable, name: string): Promise<void> {
  await database.query('TRUNCATE index_document CASCADE');
  await database.query('UPDATE index_state SET kept_up = $1, filled_at = NULL', [name]);
}

/**
 * The error of a process with another engine or an older release than the one in charge: its
 * writes would be missing there, and its index is not maintained.
 */
export function activeElsewhere(): ServiceError {
  return new ServiceError('unavailable', 'Another index is maintained now.', { retryAfterMs: 1_000 });
}

/** @throws ServiceError `unavailable` when events go into another index */
export async function assertActive(database: Queryable, name: string): Promise<void> {
  if ((await activeIndex(database)) !== name) throw activeElsewhere();
}

/** Connections whose end is reported by the statement that finds them closed; the pool opens others. */
export function openPool(config: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool(config);
  // NOTE: an error event without a listener ends the process, of an idle connection and of an active one.
  pool.on('error', () => {});
  pool.on('connect', (connection) => connection.on('error', () => {}));
  return pool;
}
