import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ServiceName } from '@kr/local-stack';
import type { DumpedDatabase } from './dump-database.ts';
import type { Part } from './part.ts';

/** Of the folders that this release makes and reads. */
export const FORMAT = 1;

const FILE = 'manifest.json';

/** Description of a backup; written last. Names are those of the file. */
export interface Manifest {
  format: number;
  /** Of the program that made it. */
  release: string;
  begun_at: string;
  /** The one moment that all databases are of. */
  taken_at: string;
  ended_at: string;
  databases: Record<ServiceName, DumpedDatabase>;
  files: {
    /** The `store-id` of the store; null if it has none yet. */
    store_id: string | null;
    /** Whether the bytes are in the backup; else it has only their list. */
    has_bytes: boolean;
    objects: number;
    bytes: number;
    /** Ids of objects that files have and whose bytes were not in the store as they should be. */
    missing: string[];
  };
  has_secrets: boolean;
  /** Every file of the backup but this one and the objects, which `files/objects.tsv.gz` lists. */
  parts: Part[];
}

export async function writeManifest(folder: string, manifest: Manifest): Promise<void> {
  const text = JSON.stringify({ ...manifest, sha256: digestOf(manifest) }, null, 2);
  await writeFile(join(folder, FILE), `${text}\n`, { mode: 0o600, flush: true });
}

/** @throws Error if the manifest is missing, damaged, or from a later release */
export async function readManifest(folder: string): Promise<Manifest> {
  const file = join(folder, FILE);
  const text = await readFile(file, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw new Error(`${folder} is not a backup: ${file} cannot be read (${cause.code}).`, { cause });
  });
  const { sha256, ...manifest } = parse(text, file);
  if (typeof manifest.format === 'number' && manifest.format > FORMAT)
    throw new Error(
      `${folder} is of format ${manifest.format}, made by release ${manifest.release}; this release reads up to ${FORMAT}.`,
    );
  if (sha256 !== digestOf(manifest)) throw new Error(`${file} is damaged: its checksum differs.`);
  return manifest;
}

function parse(text: string, file: string): Manifest & { sha256: unknown } {
  try {
    return Object(JSON.parse(text));
  } catch (cause) {
    throw new Error(`${file} is damaged: it is not valid JSON.`, { cause });
  }
}

function digestOf(manifest: Manifest): string {
  return createHash('sha256').update(JSON.stringify(manifest)).digest('hex');
}
