import { openPool, quickDatabase, type Sql, type SqlDatabase, statementNames } from '@kr/database';
import { PrismaPg } from '@prisma/adapter-pg';
import { PrismaClient } from '../gen/prisma/client.ts';

export type Database = PrismaClient;
export type Tx = Sql;

export interface Databases {
  database: Database;
  /** The same connections without the client's models. */
  quick: SqlDatabase;
}

export function openDatabases(databaseUrl: URL): Databases {
  const pool = openPool(databaseUrl);
  const statementNameGenerator = statementNames();
  const adapter = new PrismaPg(pool, { statementNameGenerator, disposeExternalPool: true });
  const database = new PrismaClient({ adapter });
  return { database, quick: quickDatabase(pool, statementNameGenerator) };
}

export function openDatabase(databaseUrl: URL): Database {
  return openDatabases(databaseUrl).database;
}
