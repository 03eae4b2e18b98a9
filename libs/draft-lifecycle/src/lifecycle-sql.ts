/**
 * What the lifecycle needs of a database with its tables. A generated Prisma client satisfies it as it is, and so does
 * `quickDatabase` of `@kr/database`; each service passes its own and shares its transactions.
 */
export interface LifecycleSql {
  $queryRawUnsafe<Rows>(sql: string, ...values: unknown[]): Promise<Rows>;
  $executeRawUnsafe(sql: string, ...values: unknown[]): Promise<number>;
  /** Of a transaction that can: sends it with the statement that comes next, at the latest with COMMIT. */
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
