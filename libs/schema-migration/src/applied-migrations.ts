import { readdir } from 'node:fs/promises';
import type { Client } from 'pg';
import type { MigrationSet } from './migration-set.ts';

/** The names of the files of a set that a database has had, in the order in which it had them; none before the first. */
export async function appliedMigrations(client: Client, set: string): Promise<string[]> {
  const table = `migrations_${set}`;
  const found = await client.query('select to_regclass($1) is not null as is_there', [table]);
  if (found.rows[0]?.is_there !== true) return [];
  const applied = await client.query<{ name: string }>(
    `select name from ${client.escapeIdentifier(table)} order by run_on, id`,
  );
  return applied.rows.map(({ name }) => name);
}

/** The names of the files of a set, in the order in which they are applied. */
export async function filesOf({ directory }: MigrationSet): Promise<string[]> {
  const names = await readdir(directory);
  return names
    .filter((name) => name.endsWith('.sql'))
    .map((name) => name.slice(0, -'.sql'.length))
    .sort();
}
