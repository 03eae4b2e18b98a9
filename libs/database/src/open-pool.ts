import { Pool } from 'pg';
import { ONE_PLAN } from './statement-names.ts';

/** Timeouts in milliseconds. */
export interface PoolLimits {
  /** Waiting for a free connection. */
  connectionMs: number;
  statementMs: number;
  /** Waiting for a lock. */
  lockMs: number;
}

const LIMITS: PoolLimits = { connectionMs: 5_000, statementMs: 5_000, lockMs: 3_000 };

/** One pool for each process. The limits prevent a stuck client from holding locks that others wait for. */
export function openPool(databaseUrl: URL, { connectionMs, statementMs, lockMs } = LIMITS): Pool {
  const pool = new Pool({
    connectionString: databaseUrl.href,
    pipeline: true,
    max: 10,
    idleTimeoutMillis: 10_000,
    connectionTimeoutMillis: connectionMs,
    options: `-c statement_timeout=${statementMs} -c lock_timeout=${lockMs} -c idle_in_transaction_session_timeout=10s ${ONE_PLAN}`,
  });
  // The pool removes idle connections that end; an unhandled error event would end the process.
  pool.on('error', () => undefined);
  return pool;
}
