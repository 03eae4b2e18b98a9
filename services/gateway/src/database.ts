import { ONE_PLAN, statementNames } from '@kr/database';
import { PrismaPg } from '@prisma/adapter-pg';
import { PrismaClient } from './gen/prisma/client.ts';

export type Database = PrismaClient;

/** How long a connection is waited for, and then a statement, in milliseconds. */
const LIMIT_MS = 5_000;

/** The gateway's own small database. A few connections do: each answers in well under a millisecond. */
export function openDatabase(url: URL): Database {
  const adapter = new PrismaPg(
    {
      connectionString: url.href,
      max: 4,
      connectionTimeoutMillis: LIMIT_MS,
      statement_timeout: LIMIT_MS,
      // A database that has fallen silent does not end its statements itself.
      query_timeout: LIMIT_MS,
      idle_in_transaction_session_timeout: 2 * LIMIT_MS,
      options: ONE_PLAN,
    },
    { statementNameGenerator: statementNames() },
  );
  return new PrismaClient({ adapter });
}
