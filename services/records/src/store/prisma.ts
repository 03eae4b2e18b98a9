import { PrismaPg } from '@prisma/adapter-pg';
import { type Prisma, PrismaClient } from '../gen/prisma/client.ts';

export type Database = PrismaClient;
export type Tx = Prisma.TransactionClient;

/** One pool for each process. The limits keep a stuck client from holding locks that others wait for. */
export function openDatabase(databaseUrl: URL): Database {
  return new PrismaClient({
    adapter: new PrismaPg({
      connectionString: databaseUrl.href,
      max: 10,
      idleTimeoutMillis: 30_000,
      options: '-c statement_timeout=5s -c lock_timeout=3s -c idle_in_transaction_session_timeout=10s',
    }),
  });
}
