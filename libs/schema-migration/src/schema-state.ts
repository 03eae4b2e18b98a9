import { Client } from 'pg';
import { appliedMigrations, filesOf } from './applied-migrations.ts';
import type { MigrationSet } from './migration-set.ts';

/** State of a database for one set of migrations; file names without extension, in order. */
export interface SchemaState {
  set: string;
  applied: string[];
  /** Files of this release that are not applied yet. */
  pending: string[];
  /** Applied files of a later release, unknown to this one. */
  newer: string[];
}

/** Compares a database with the migrations of this release; changes nothing. @throws Error when it is not reached */
export async function readSchemaState(
  databaseUrl: URL | string,
  sets: readonly MigrationSet[],
): Promise<SchemaState[]> {
  const client = new Client({ connectionString: String(databaseUrl), application_name: 'schema-state' });
  await client.connect();
  try {
    const states: SchemaState[] = [];
    for (const set of sets) {
      const applied = await appliedMigrations(client, set.name);
      const files = await filesOf(set);
      states.push({
        set: set.name,
        applied,
        pending: files.filter((file) => !applied.includes(file)),
        newer: applied.filter((file) => !files.includes(file)),
      });
    }
    return states;
  } finally {
    await client.end();
  }
}

/** Files of this release by set, in order. */
export async function readSchemaFiles(sets: readonly MigrationSet[]): Promise<Map<string, string[]>> {
  return new Map(await Promise.all(sets.map(async (set) => [set.name, await filesOf(set)] as const)));
}
