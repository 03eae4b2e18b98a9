import pg, { type Pool, type PoolClient } from 'pg';

/** The database could not be reached, or the connection was lost: the outcome of the last statement is unknown. */
class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';
  readonly code = 'ECONNRESET';
}

/**
 * Runs work on a reserved connection. If the connection is lost, or the work exceeds the timeout in
 * milliseconds, the connection is closed instead of returned to the pool.
 *
 * @throws an error with a transient code when there is no connection, or when it was lost; else the error of
 * the work
 */
export async function holdConnection<Result>(
  pool: Pool,
  timeoutMs: number,
  work: (connection: PoolClient) => Promise<Result>,
): Promise<Result> {
  const connection = await connect(pool);
  let lost: Error | undefined;
  const noteLoss = (error: Error): void => {
    lost ??= error;
  };
  // NOTE: the pool handles errors of idle connections only; an unhandled error event would end the process.
  connection.on('error', noteLoss);
  const timer = setTimeout(() => {
    noteLoss(new Error(`not done within ${timeoutMs} ms`));
    // NOTE: `end` would wait for statements in flight.
    (connection as PoolClient & { connection: Pick<pg.Connection, 'stream'> }).connection.stream.destroy();
  }, timeoutMs);
  try {
    return await work(connection);
  } catch (error) {
    if (lost === undefined) throw error;
    throw new ConnectionLost('the database connection was lost', { cause: error });
  } finally {
    clearTimeout(timer);
    connection.off('error', noteLoss);
    connection.release(lost);
  }
}

async function connect(pool: Pool): Promise<PoolClient> {
  try {
    return await pool.connect();
  } catch (error) {
    if (error instanceof pg.DatabaseError || (error instanceof Error && 'code' in error)) throw error;
    throw new ConnectionLost('no database connection is to be had', { cause: error });
  }
}
