import { ONE_PLAN, statementNames } from '@kr/database';
import { PrismaPg } from '@prisma/adapter-pg';
import { type Prisma, PrismaClient } from '../gen/prisma/client.ts';

export type Database = PrismaClient;
export type Tx = Prisma.TransactionClient;

/** A statement waits at most 5 s for a lock and runs at most 10 s; a transaction left open for 10 s is ended. */
const SESSION_OPTIONS = `-c lock_timeout=5000 -c statement_timeout=10000 -c idle_in_transaction_session_timeout=10000 ${ONE_PLAN}`;

export function connectDatabase(databaseUrl: URL, poolSize: number): Database {
  const adapter = new PrismaPg(
    { connectionString: databaseUrl.href, max: poolSize, options: SESSION_OPTIONS },
    { statementNameGenerator: statementNames() },
  );
  return new PrismaClient({ adapter, transactionOptions: { maxWait: 10_000, timeout: 15_000 } });
}
