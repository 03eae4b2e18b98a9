import { openConnections, type SqlDatabase } from '@kr/database';
import { PrismaPg } from '@prisma/adapter-pg';
import { type Prisma, PrismaClient } from '../gen/prisma/client.ts';

export type Database = PrismaClient;
export type Tx = Prisma.TransactionClient;

export interface Databases {
  database: Database;
  /** The same connections without the client's models. */
  quick: SqlDatabase;
}

/** Many uploads into one bucket take turns. */
const LIMITS = { connectionMs: 10_000, statementMs: 10_000, lockMs: 5_000 };

export function openDatabases(databaseUrl: URL): Databases {
  const { pool, adapterOptions, quick } = openConnections(databaseUrl, LIMITS);
  const adapter = new PrismaPg(pool, adapterOptions);
  const database = new PrismaClient({ adapter, transactionOptions: { maxWait: 10_000, timeout: 15_000 } });
  return { database, quick };
}

export function openDatabase(databaseUrl: URL): Database {
  return openDatabases(databaseUrl).database;
}
