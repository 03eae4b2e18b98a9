import { PrismaPg } from '@prisma/adapter-pg';
import { PrismaClient } from '../gen/prisma/client.ts';

export type Database = PrismaClient;

/** The gateway's own small database. A few connections do: each answers in well under a millisecond. */
export function openDatabase(url: URL): Database {
  return new PrismaClient({ adapter: new PrismaPg({ connectionString: url.href, max: 4 }) });
}
