import { ONE_PLAN, statementNames } from '@kr/database';
import { PrismaPg } from '@prisma/adapter-pg';
import { type Prisma, PrismaClient } from '../gen/prisma/client.ts';

export type Database = PrismaClient;
/** The database within one transaction. */
export type Tx = Prisma.TransactionClient;

/** Connects with the first query. */
export function openDatabase(databaseUrl: URL): Database {
  const adapter = new PrismaPg(
    {
      connectionString: databaseUrl.href,
      application_name: 'access-links',
      max: 5,
      connectionTimeoutMillis: 5_000,
      statement_timeout: 5_000,
      idle_in_transaction_session_timeout: 10_000,
      options: ONE_PLAN,
    },
    { statementNameGenerator: statementNames() },
  );
  return new PrismaClient({ adapter });
}
