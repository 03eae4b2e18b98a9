import { SERVICES } from '@kr/local-stack';
import { readSchemaFiles } from '@kr/schema-migration';
import { amountOf, type Progress } from './backup-system.ts';
import { type Manifest, readManifest } from './manifest.ts';
import { problemOfPart } from './part.ts';
import { SCHEMAS } from './schemas.ts';
import { problemsOfObjects } from './stored-objects.ts';

const SHOWN_PROBLEMS = 20;

/**
 * Verifies every byte of a backup; changes nothing.
 *
 * @throws Error that names damaged or missing parts, or tables that this release does not know
 */
export async function verifyBackup(folder: string, progress: Progress): Promise<Manifest> {
  const manifest = await readManifest(folder);
  progress.step('the parts of the backup');
  await assertKnownSchema(folder, manifest);
  const problems = await Promise.all(manifest.parts.map((part) => problemOfPart(folder, part)));
  assertNone(folder, problems);
  if (!manifest.files.has_bytes) return manifest;
  progress.step('the bytes of files in the backup');
  const { missing, objects } = manifest.files;
  assertNone(folder, await problemsOfObjects(folder, { missing, onObject: amountOf(objects, progress) }));
  return manifest;
}

function assertNone(folder: string, found: readonly (string | undefined)[]): void {
  const problems = found.filter((problem) => problem !== undefined);
  if (problems.length === 0) return;
  const more = problems.length > SHOWN_PROBLEMS ? [`and ${problems.length - SHOWN_PROBLEMS} more`] : [];
  throw new Error([`${folder} is damaged:`, ...problems.slice(0, SHOWN_PROBLEMS), ...more].join('\n  '));
}

/** A backup of an earlier release has fewer migrations than this one, never others. */
async function assertKnownSchema(folder: string, { databases, release }: Manifest): Promise<void> {
  for (const service of SERVICES) {
    const schemaFiles = await readSchemaFiles(SCHEMAS[service]);
    for (const [set, applied] of Object.entries(databases[service].schema)) {
      const unknown = applied.filter((name, index) => schemaFiles.get(set)?.[index] !== name);
      if (unknown.length > 0)
        throw new Error(
          `${folder} was made by release ${release}, and this one does not know the tables of its ${service}: ${unknown.join(', ')}. Restore it with that release.`,
        );
    }
  }
}
