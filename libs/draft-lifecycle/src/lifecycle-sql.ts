/**
 * Database access with the tables of the lifecycle. A generated Prisma client satisfies it, and so does
 * `quickDatabase` of `@kr/database`; each service passes its database and shares its transactions.
 */
export interface LifecycleSql {
  $queryRawUnsafe<Rows>(sql: string, ...values: unknown[]): Promise<Rows>;
  $executeRawUnsafe(sql: string, ...values: unknown[]): Promise<number>;
  /** Only in transactions that pipeline: sends it with the next statement, at the latest with COMMIT. */
  $executeWithNext?(sql: string, ...values: unknown[]): Promise<void>;
}

/** A client that can open transactions; `Tx` is what the service's own hooks get. */
export interface LifecycleDatabase<Tx extends LifecycleSql = LifecycleSql> extends LifecycleSql {
  $transaction<Result>(run: (tx: Tx) => Promise<Result>, options?: { timeout?: number }): Promise<Result>;
}

/** For a statement of a transaction of which nothing is to be known but that it did not fail. */
export async function executeWithNext(tx: LifecycleSql, sql: string, ...values: unknown[]): Promise<void> {
  await (tx.$executeWithNext?.(sql, ...values) ?? tx.$executeRawUnsafe(sql, ...values));
}
