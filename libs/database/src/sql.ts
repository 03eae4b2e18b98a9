/** What runs statements, by the names that a Prisma client has for it. */
export interface Sql {
  $queryRawUnsafe<Rows>(sql: string, ...values: unknown[]): Promise<Rows>;
  /** Answers with the number of rows that the statement changed. */
  $executeRawUnsafe(sql: string, ...values: unknown[]): Promise<number>;
}

export interface SqlDatabase extends Sql {
  /** All that `run` writes or, when it throws, nothing; over after `timeout` milliseconds (default 5000). */
  $transaction<Result>(run: (tx: Sql) => Promise<Result>, options?: { timeout?: number }): Promise<Result>;
}
