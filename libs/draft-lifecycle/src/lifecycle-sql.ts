/**
 * What the lifecycle needs of a database with its tables. A generated Prisma client satisfies it as it is, and so does
 * `quickDatabase` of `@kr/database`; each service passes its own and shares its transactions.
 */
export interface LifecycleSql {
  $queryRawUnsafe<Rows>(sql: string, ...values: unknown[]): Promise<Rows>;
  $executeRawUnsafe(sql: string, ...values: unknown[]): Promise<number>;
}

/** A client that can open transactions; `Tx` is what the service's own hooks get. */
export interface LifecycleDatabase<Tx extends LifecycleSql = LifecycleSql> extends LifecycleSql {
  $transaction<Result>(run: (tx: Tx) => Promise<Result>, options?: { timeout?: number }): Promise<Result>;
}
