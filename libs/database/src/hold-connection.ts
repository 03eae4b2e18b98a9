import pg, { type Pool, type PoolClient } from 'pg';

/** The database could not be reached, or not any more: whether the last statement was carried out is not known. */
class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';
  readonly code = 'ECONNRESET';
}

/**
 * Runs work on a connection of its own. One that was lost, or that has not ended the work within that many
 * milliseconds, is cut and does not go back to the pool.
 *
 * @throws an error with a transient code when there is no connection, or when it was lost; else what the work throws
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
  // NOTE: the pool listens only to connections that nobody has; an error that nobody hears would end the process.
  connection.on('error', noteLoss);
  const timer = setTimeout(() => {
    noteLoss(new Error(`not done within ${timeoutMs} ms`));
    // NOTE: `end` would wait for what was sent.
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
