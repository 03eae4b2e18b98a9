import pg from 'pg';

/** A pool that replaces lost connections; the statement that finds one closed fails. */
export function openPool(config: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool(config);
  // NOTE: an error event without a listener ends the process, of an idle connection and of an active one.
  pool.on('error', () => {});
  pool.on('connect', (connection) => connection.on('error', () => {}));
  return pool;
}
