import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { MigrationSet } from './migration-set.ts';

const CONTRACT = /^-- contract of ([\w-]+)/;

/**
 * The expanding file that a contract step requires, as named in its first line; undefined if the file is no
 * contract step.
 */
export function contractOf(sql: string): string | undefined {
  return CONTRACT.exec(sql)?.[1];
}

/**
 * A contract step removes columns or tables that the release before last needed. If no release in between has
 * applied the expanding file, the old release is still running, or its data was not migrated. A new database
 * has no such history.
 *
 * @throws Error that names the file that the release in between has to apply first
 */
export async function assertNothingLeftOut(
  { name, directory }: MigrationSet,
  { applied, files }: { applied: readonly string[]; files: readonly string[] },
): Promise<void> {
  if (applied.length === 0) return;
  const pending = files.filter((file) => !applied.includes(file));
  for (const file of pending) {
    const expanding = contractOf(await readFile(join(directory, `${file}.sql`), 'utf8'));
    if (expanding !== undefined && !applied.includes(expanding))
      throw new Error(
        `This database is too old for this release: ${file} of ${name} follows ${expanding}, which it never had. Upgrade to the release in between first.`,
      );
  }
}
