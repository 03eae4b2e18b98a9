import type { Pool } from 'pg';

/** Runs statements, with the method names of a Prisma client. */
export interface Sql {
  $queryRawUnsafe<Rows>(sql: string, ...values: unknown[]): Promise<Rows>;
  /** Answers with the number of rows that the statement changed. */
  $executeRawUnsafe(sql: string, ...values: unknown[]): Promise<number>;
  /**
   * Only in transactions that pipeline: sends the statement with the next one, at the latest with COMMIT. Resolves at
   * once; if the statement fails, so do the next one and the transaction.
   */
  $executeWithNext?(sql: string, ...values: unknown[]): Promise<void>;
}

/** For a statement of a transaction whose only relevant result is that it did not fail. */
export async function executeWithNext(tx: Sql, sql: string, ...values: unknown[]): Promise<void> {
  await (tx.$executeWithNext?.(sql, ...values) ?? tx.$executeRawUnsafe(sql, ...values));
}

export interface SqlDatabase extends Sql {
  /**
   * Commits all writes of `run` or, when it throws, none; aborted after `timeout` milliseconds (default
   * 5000).
   */
  $transaction<Result>(run: (tx: Sql) => Promise<Result>, options?: { timeout?: number }): Promise<Result>;
}

/** The same methods on a connection or a pool of the driver. */
export function sqlOn(connection: Pick<Pool, 'query'>): Sql {
  return {
    $queryRawUnsafe: async <Rows>(sql: string, ...values: unknown[]) =>
      (await connection.query(sql, values)).rows as Rows,
    $executeRawUnsafe: async (sql, ...values) => (await connection.query(sql, values)).rowCount ?? 0,
  };
}
