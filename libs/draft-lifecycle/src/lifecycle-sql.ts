/**
 * What the lifecycle needs of a Prisma client. Every generated client with the lifecycle's tables in its database
 * satisfies it as it is, so each service passes its own and shares its transactions.
 */
export interface LifecycleSql {
  $queryRawUnsafe<Rows>(sql: string, ...values: unknown[]): Promise<Rows>;
  $executeRawUnsafe(sql: string, ...values: unknown[]): Promise<number>;
}

/** A client that can open transactions; `Tx` is what the service's own hooks get. */
export interface LifecycleDatabase<Tx extends LifecycleSql = LifecycleSql> extends LifecycleSql {
  $transaction<Result>(
    run: (tx: Tx) => Promise<Result>,
    options?: { maxWait?: number; timeout?: number },
  ): Promise<Result>;
}
