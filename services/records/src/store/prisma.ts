import { openConnections, type SqlDatabase } from '@kr/database';
import { PrismaPg } from '@prisma/adapter-pg';
import { PrismaClient } from '../gen/prisma/client.ts';

export type Database = PrismaClient;

export interface Databases {
  database: Database;
  /** The same connections without the client's models. */
  quick: SqlDatabase;
}

export function openDatabases(databaseUrl: URL): Databases {
  const { pool, adapterOptions, quick } = openConnections(databaseUrl);
  const adapter = new PrismaPg(pool, adapterOptions);
  return { database: new PrismaClient({ adapter }), quick };
}

export function openDatabase(databaseUrl: URL): Database {
  return openDatabases(databaseUrl).database;
}
