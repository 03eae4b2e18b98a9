import pg from 'pg';

/** When this process loses its database without notice, it closes the connection after about half a minute. */
export const CLIENT_KEEPALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 20_000 };
/** In seconds. By default the database would keep the locks of an unreachable process for hours. */
export const SERVER_KEEPALIVE =
  '-c tcp_keepalives_idle=20 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=4';

const CONNECTION_TIMEOUT_MS = 30_000;

/** A pool that replaces lost connections; the statement that finds one closed fails. */
export function openPool({ options = '', ...config }: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool({
    ...CLIENT_KEEPALIVE,
    connectionTimeoutMillis: CONNECTION_TIMEOUT_MS,
    ...config,
    options: `${SERVER_KEEPALIVE} ${options}`,
  });
  // NOTE: an error event without a listener ends the process, of an idle connection and of an active one.
  pool.on('error', () => {});
  pool.on('connect', (connection) => connection.on('error', () => {}));
  return pool;
}
