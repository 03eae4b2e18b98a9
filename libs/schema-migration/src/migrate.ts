import { Client } from 'pg';
import { appliedMigrations, filesOf } from './applied-migrations.ts';
import { assertNothingLeftOut } from './contract-steps.ts';
import type { MigrationSet } from './migration-set.ts';

export interface MigrationLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface MigrateOptions {
  databaseUrl: URL | string;
  /** Applied in this order. */
  sets: readonly MigrationSet[];
  /** Of each set, by its name, how many files at most; for a database that an earlier release has filled. */
  atMost?: ReadonlyMap<string, number>;
  logger?: MigrationLogger;
}

// One for all sets: replicas that start together take turns.
const LOCK_ID = 5_072_001;
const ALL_BUT_SQL = '(?!.*\\.sql$).*';

/**
 * Migrates a database to the newest schema: applies the pending files of each set in the order of their
 * names, all of a set in one transaction. Waits for concurrent migrations of the same database. Safe to
 * repeat. There are no down migrations; a further file corrects mistakes. A database migrated by a later
 * release stays unchanged.
 *
 * @throws Error when the database cannot be reached, a statement fails (nothing of that set is applied then),
 * a file sorts before an applied one, or a release was skipped
 */
export async function migrate({ databaseUrl, sets, atMost, logger }: MigrateOptions): Promise<void> {
  const client = new Client({ connectionString: String(databaseUrl), application_name: 'schema-migration' });
  await client.connect();
  try {
    await client.query('select pg_advisory_lock($1)', [LOCK_ID]);
    for (const set of sets) await applySet(client, set, { most: atMost?.get(set.name), logger });
  } finally {
    // The lock goes with the connection.
    await client.end();
  }
}

async function applySet(
  client: Client,
  set: MigrationSet,
  { most, logger }: { most: number | undefined; logger: MigrationLogger | undefined },
): Promise<void> {
  const { name, directory } = set;
  const [applied, files] = await Promise.all([appliedMigrations(client, name), filesOf(set)]);
  const isOlderThanTheDatabase =
    applied.length > files.length && files.every((file, index) => file === applied[index]);
  if (isOlderThanTheDatabase)
    logger?.info({ set: name, newer: applied.slice(files.length) }, 'the schema is that of a later release');
  const isFarEnough = most !== undefined && applied.length >= most;
  // Anything else is the library's to judge.
  if (isOlderThanTheDatabase || isFarEnough || applied.join('\n') === files.join('\n')) return;
  await assertNothingLeftOut(set, { applied, files });
  // Large, and most starts find nothing to do.
  const { runner } = await import('node-pg-migrate');
  const warn = (text: string): void => logger?.warn({ set: name, text }, 'schema migration');
  const done = await runner({
    dbClient: client,
    dir: directory,
    ignorePattern: ALL_BUT_SQL,
    migrationsTable: `migrations_${name}`,
    direction: 'up',
    singleTransaction: true,
    noLock: true,
    ...(most === undefined ? {} : { count: most - applied.length }),
    logger: { info: () => undefined, warn, error: warn },
  });
  if (done.length > 0) logger?.info({ set: name, applied: done.map((file) => file.name) }, 'schema migrated');
}
