import { Pool } from 'pg';
import { ONE_PLAN } from './statement-names.ts';

/** One pool for each process. The limits keep a stuck client from holding locks that others wait for. */
export function openPool(databaseUrl: URL): Pool {
  return new Pool({
    connectionString: databaseUrl.href,
    max: 10,
    idleTimeoutMillis: 10_000,
    connectionTimeoutMillis: 5_000,
    options: `-c statement_timeout=5s -c lock_timeout=3s -c idle_in_transaction_session_timeout=10s ${ONE_PLAN}`,
  });
}
