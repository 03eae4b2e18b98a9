import { Client } from 'pg';
import { appliedMigrations, filesOf } from './applied-migrations.ts';
import type { MigrationSet } from './migration-set.ts';

/** How far a database has come in one set of migrations; names of files without their ending, in their order. */
export interface SchemaState {
  set: string;
  applied: string[];
  /** What this release still has to apply. */
  pending: string[];
  /** What a later release has applied, of which this one knows nothing. */
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

/** What this release applies: by set, the names of its files in their order. */
export async function readSchemaFiles(sets: readonly MigrationSet[]): Promise<Map<string, string[]>> {
  return new Map(await Promise.all(sets.map(async (set) => [set.name, await filesOf(set)] as const)));
}
