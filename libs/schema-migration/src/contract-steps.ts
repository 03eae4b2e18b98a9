import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { MigrationSet } from './migration-set.ts';

const CONTRACT = /^-- contract of ([\w-]+)/;

/** The expanding file that a contract step comes after, as its first line says; undefined when it is none. */
export function contractOf(sql: string): string | undefined {
  return CONTRACT.exec(sql)?.[1];
}

/**
 * A contract step takes away what the release before last needed: where the expanding file that it names was not applied
 * by a release in between, that one is still running, or has written what nobody has carried over. A new database has no such
 * past.
 *
 * @throws Error that says which file the release in between has to apply first
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
