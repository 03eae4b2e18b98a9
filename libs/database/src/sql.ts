/** What runs statements, by the names that a Prisma client has for it. */
export interface Sql {
  $queryRawUnsafe<Rows>(sql: string, ...values: unknown[]): Promise<Rows>;
  /** Answers with the number of rows that the statement changed. */
  $executeRawUnsafe(sql: string, ...values: unknown[]): Promise<number>;
  /**
   * Of a transaction that can: has a statement sent with the one that comes next, at the latest with COMMIT. Resolves at
   * once; when the statement fails, so does what it was sent with, and the transaction.
   */
  $executeWithNext?(sql: string, ...values: unknown[]): Promise<void>;
}

/** For a statement of a transaction of which nothing is to be known but that it did not fail. */
export async function executeWithNext(tx: Sql, sql: string, ...values: unknown[]): Promise<void> {
  await (tx.$executeWithNext?.(sql, ...values) ?? tx.$executeRawUnsafe(sql, ...values));
}

export interface SqlDatabase extends Sql {
  /** All that `run` writes or, when it throws, nothing; over after `timeout` milliseconds (default 5000). */
  $transaction<Result>(run: (tx: Sql) => Promise<Result>, options?: { timeout?: number }): Promise<Result>;
}
