import { ONE_PLAN, statementNames } from '@kr/database';
import { PrismaPg } from '@prisma/adapter-pg';
import { PrismaClient } from '../gen/prisma/client.ts';

export type Database = PrismaClient;

/** The gateway's own small database. A few connections do: each answers in well under a millisecond. */
export function openDatabase(url: URL): Database {
  const adapter = new PrismaPg(
    { connectionString: url.href, max: 4, options: ONE_PLAN },
    { statementNameGenerator: statementNames() },
  );
  return new PrismaClient({ adapter });
}
