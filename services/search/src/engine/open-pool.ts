import pg from 'pg';

/** Connections whose end is told by the statement that finds them ended; the pool makes others in their place. */
export function openPool(config: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool(config);
  // NOTE: an error event that nobody hears ends the process, of an idle connection and of one at work.
  pool.on('error', () => {});
  pool.on('connect', (connection) => connection.on('error', () => {}));
  return pool;
}
