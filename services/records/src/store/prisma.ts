import { openPool, type RawSql, statementNames, withQuickReads } from '@kr/database';
import { PrismaPg } from '@prisma/adapter-pg';
import { type Prisma, PrismaClient } from '../gen/prisma/client.ts';

export type Database = PrismaClient;
export type Tx = Prisma.TransactionClient;

export interface Databases {
  database: Database;
  /** The same, quicker where it reads outside transactions. */
  quick: RawSql<Tx>;
}

export function openDatabases(databaseUrl: URL): Databases {
  const pool = openPool(databaseUrl);
  const statementNameGenerator = statementNames();
  const adapter = new PrismaPg(pool, { statementNameGenerator, disposeExternalPool: true });
  const database = new PrismaClient({ adapter });
  return { database, quick: withQuickReads<Tx>(database, pool, statementNameGenerator) };
}

export function openDatabase(databaseUrl: URL): Database {
  return openDatabases(databaseUrl).database;
}
