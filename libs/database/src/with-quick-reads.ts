import pg, { type Pool } from 'pg';
import type { StatementNames } from './statement-names.ts';

/** What of a Prisma client runs SQL; `Tx` is what its transactions are given. */
export interface RawSql<Tx> {
  $queryRawUnsafe<Rows>(sql: string, ...values: unknown[]): Promise<Rows>;
  $executeRawUnsafe(sql: string, ...values: unknown[]): Promise<number>;
  $transaction<Result>(
    run: (tx: Tx) => Promise<Result>,
    options?: { maxWait?: number; timeout?: number },
  ): Promise<Result>;
}

const INT8 = 20;

// 64 bits are a BigInt, as the client gives them.
const TYPES: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) => (oid === INT8 ? BigInt : pg.types.getTypeParser(oid, format)),
};

/**
 * The same database, but queries outside transactions go to the pool itself, as prepared statements. Only for reads:
 * one that finds its connection lost is left to the client, so that outages look the same everywhere.
 */
export function withQuickReads<Tx>(client: RawSql<Tx>, pool: Pool, nameOf: StatementNames): RawSql<Tx> {
  return {
    async $queryRawUnsafe<Rows>(sql: string, ...values: unknown[]) {
      try {
        const { rows } = await pool.query({ name: nameOf({ sql }), text: sql, values, types: TYPES });
        return rows as Rows;
      } catch (error) {
        if (error instanceof pg.DatabaseError) throw error;
        return client.$queryRawUnsafe<Rows>(sql, ...values);
      }
    },
    $executeRawUnsafe: (sql, ...values) => client.$executeRawUnsafe(sql, ...values),
    $transaction: (run, options) => client.$transaction(run, options),
  };
}
