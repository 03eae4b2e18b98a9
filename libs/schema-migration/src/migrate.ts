import { readdir } from 'node:fs/promises';
import { Client } from 'pg';

/** A sequence of migrations with a memory of its own: a lib that brings tables is one, a service is another. */
export interface MigrationSet {
  /** Lower case letters and `_`; names the tracking table `migrations_<name>`. Never changes. */
  name: string;
  /** Absolute path of a folder of `<timestamp>_<name>.sql` files; other files in it are ignored. */
  directory: string;
}

export interface MigrationLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface MigrateOptions {
  databaseUrl: URL | string;
  /** Applied in this order. */
  sets: readonly MigrationSet[];
  logger?: MigrationLogger;
}

// One for all sets: replicas that start together take turns.
const LOCK_ID = 5_072_001;
const ALL_BUT_SQL = '(?!.*\\.sql$).*';

/**
 * Brings a database to the newest schema: applies, in the order of their names, the files of each set that were not
 * applied yet, all of a set in one transaction. Waits for whoever else is migrating the same database. Safe to repeat;
 * there is no way back, a mistake is corrected by a further file.
 *
 * @throws Error when the database is not reached, a statement fails (nothing of that set is applied then), or a file
 *   sorts before one that was applied already
 */
export async function migrate({ databaseUrl, sets, logger }: MigrateOptions): Promise<void> {
  const client = new Client({ connectionString: String(databaseUrl), application_name: 'schema-migration' });
  await client.connect();
  try {
    await client.query('select pg_advisory_lock($1)', [LOCK_ID]);
    for (const set of sets) await applySet(client, set, logger);
  } finally {
    // The lock goes with the connection.
    await client.end();
  }
}

async function applySet(
  client: Client,
  { name, directory }: MigrationSet,
  logger?: MigrationLogger,
): Promise<void> {
  if (await isNewest(client, { name, directory })) return;
  // Large, and most starts find nothing to do.
  const { runner } = await import('node-pg-migrate');
  const warn = (text: string): void => logger?.warn({ set: name, text }, 'schema migration');
  const applied = await runner({
    dbClient: client,
    dir: directory,
    ignorePattern: ALL_BUT_SQL,
    migrationsTable: `migrations_${name}`,
    direction: 'up',
    singleTransaction: true,
    noLock: true,
    logger: { info: () => undefined, warn, error: warn },
  });
  if (applied.length > 0)
    logger?.info({ set: name, applied: applied.map((file) => file.name) }, 'schema migrated');
}

/** Whether exactly these files were applied; anything else is the library's to judge. */
async function isNewest(client: Client, { name, directory }: MigrationSet): Promise<boolean> {
  const table = `migrations_${name}`;
  const found = await client.query('select to_regclass($1) is not null as is_there', [table]);
  if (found.rows[0]?.is_there !== true) return false;
  const applied = await client.query(
    `select name from ${client.escapeIdentifier(table)} order by run_on, id`,
  );
  const files = (await readdir(directory)).filter((file) => file.endsWith('.sql')).sort();
  return applied.rows.map((row) => `${row.name}.sql`).join('\n') === files.join('\n');
}
