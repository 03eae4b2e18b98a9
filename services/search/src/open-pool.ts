import pg from 'pg';

/** Connections whose end is reported by the statement that finds them closed; the pool opens others. */
export function openPool(config: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool(config);
  // NOTE: an error event without a listener ends the process, of an idle connection and of an active one.
  pool.on('error', () => {});
  pool.on('connect', (connection) => connection.on('error', () => {}));
  return pool;
}
