import { openPool, quickDatabase, type SqlDatabase, statementNames } from '@kr/database';

export interface Database extends SqlDatabase {
  close(): Promise<void>;
}

/** Uploads into one bucket wait for each other. */
const LIMITS = { connectionMs: 10_000, statementMs: 10_000, lockMs: 5_000 };
const TRANSACTION_MS = 15_000;

/** Connects with the first statement. */
export function openDatabase(databaseUrl: URL): Database {
  const pool = openPool(databaseUrl, LIMITS);
  const sql = quickDatabase(pool, statementNames());
  return {
    ...sql,
    $transaction: (run) => sql.$transaction(run, { timeout: TRANSACTION_MS }),
    close: () => pool.end(),
  };
}
