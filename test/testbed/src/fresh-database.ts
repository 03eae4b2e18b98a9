import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { openPostgres, type TestPostgres } from './postgres.ts';

export interface FreshDatabase {
  url: string;
  /** Ends open connections and removes the database. */
  drop(): Promise<void>;
}

let opened: Promise<TestPostgres> | undefined;

/** An empty database of the run's Postgres, for one test file alone. */
export async function freshDatabase(): Promise<FreshDatabase> {
  opened ??= openPostgres(process.env['TEST_DATABASE_URL']);
  const { url: adminUrl } = await opened;
  const name = `test_${randomBytes(8).toString('hex')}`;
  await administer(adminUrl, `CREATE DATABASE ${name} TEMPLATE template0`);
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => administer(adminUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) };
}

async function administer(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
