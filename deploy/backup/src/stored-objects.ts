import { constants } from 'node:fs';
import { copyFile, link, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import pMap from 'p-map';
import type { Client } from 'pg';
import { digestFile, type Part, readPart, undefinedIfMissing, writePart } from './part.ts';

/** Bytes of a file, as the rows of the files service name them. */
export interface StoredObject {
  id: string;
  bytes: number;
  /** `sha256:…`, or `md5:…` if the former was not computed. */
  checksum: string;
  /** Whether a file has it; what no file has the service removes after a while. */
  isNeeded: boolean;
}

/** Below the folder of a backup, and of a store. */
export const FILES = 'files';
const LIST = `${FILES}/objects.tsv.gz`;
export const STORE_ID = 'store-id';

/** All objects that a database names. */
export interface ListedObjects {
  /** The list. */
  part: Part;
  objects: number;
  bytes: number;
}

const AT_ONCE = 4;
const PAGE = 5_000;

/** The list of all objects of a snapshot of the files service's database; the order is that of their ids. */
export async function writeObjectList(folder: string, client: Client): Promise<ListedObjects> {
  const total = { objects: 0, bytes: 0 };
  async function* lines() {
    for await (const { id, bytes, checksum, isNeeded } of objectsOf(client)) {
      total.objects += 1;
      total.bytes += bytes;
      yield `${[id, bytes, checksum, isNeeded ? 'needed' : 'left'].join('\t')}\n`;
    }
  }
  const part = await writePart(folder, LIST, lines());
  return { part, ...total };
}

async function* objectsOf(client: Client): AsyncGenerator<StoredObject> {
  let after = '00000000-0000-0000-0000-000000000000';
  for (;;) {
    const { rows } = await client.query<{ id: string; bytes: string; checksum: string; is_needed: boolean }>(
      `select id::text, size::text as bytes, coalesce('sha256:' || sha256, 'md5:' || md5) as checksum,
         exists (select from entry where object_id = object.id) as is_needed
       from object where id > $1::uuid order by id limit ${PAGE}`,
      [after],
    );
    for (const { id, bytes, checksum, is_needed: isNeeded } of rows)
      yield { id, bytes: Number(bytes), checksum, isNeeded };
    const last = rows.at(-1);
    if (last === undefined) return;
    after = last.id;
  }
}

/** The objects of a backup. */
async function* listedObjects(folder: string): AsyncGenerator<StoredObject> {
  for await (const line of createInterface({ input: readPart(folder, LIST) })) {
    const [id = '', bytes, checksum = '', need] = line.split('\t');
    yield { id, bytes: Number(bytes), checksum, isNeeded: need === 'needed' };
  }
}

/**
 * Copies the listed objects from one folder to another with the same layout (that of the files service): by
 * hard links on the same file system, since objects never change, else by copies, durable when it resolves.
 *
 * @returns ids of objects that files refer to and that were missing or incomplete
 */
export async function copyObjects(
  listFolder: string,
  { from, to, onObject }: { from: string; to: string; onObject: (object: StoredObject) => void },
): Promise<string[]> {
  const missing: string[] = [];
  await pMap(
    listedObjects(listFolder),
    async (object) => {
      const isThere = await copyObject(object, from, to);
      if (!isThere && object.isNeeded) missing.push(object.id);
      onObject(object);
    },
    { concurrency: AT_ONCE },
  );
  return missing.sort();
}

async function copyObject({ id, bytes }: StoredObject, from: string, to: string): Promise<boolean> {
  const [source, target] = [objectPath(from, id), objectPath(to, id)];
  const found = await stat(source).catch(undefinedIfMissing);
  if (found?.size !== bytes) return false;
  await mkdir(dirname(target), { recursive: true });
  const aside = `${target}.new`;
  await rm(aside, { force: true });
  try {
    await link(source, aside).catch(() => copyDurably(source, aside));
  } catch (error) {
    // The service removed it meanwhile, because no file refers to it any more.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
  await rename(aside, target);
  // Where both are names of one file already, the system has left both.
  await rm(aside, { force: true });
  return true;
}

/** The problems of the listed objects of a backup; one line each. */
export async function problemsOfObjects(
  folder: string,
  { missing, onObject }: { missing: readonly string[]; onObject: (object: StoredObject) => void },
): Promise<string[]> {
  const missingIds = new Set(missing);
  const problems: string[] = [];
  await pMap(
    listedObjects(folder),
    async (object) => {
      const problem = missingIds.has(object.id) ? undefined : await problemOf(folder, object);
      if (problem !== undefined) problems.push(problem);
      onObject(object);
    },
    { concurrency: AT_ONCE },
  );
  return problems.sort();
}

async function problemOf(
  folder: string,
  { id, bytes, checksum, isNeeded }: StoredObject,
): Promise<string | undefined> {
  const [algorithm = '', digest] = checksum.split(':');
  const found = await digestFile(objectPath(join(folder, FILES), id), algorithm);
  if (found === undefined) return isNeeded ? `object ${id} is missing` : undefined;
  const isRight = found.bytes === bytes && found.digest === digest;
  return isRight ? undefined : `object ${id} is damaged`;
}

/** The mark of a store; undefined where it has none. */
export async function readStoreId(store: string): Promise<string | undefined> {
  return (await readFile(join(store, STORE_ID), 'utf8').catch(undefinedIfMissing))?.trim();
}

/** As the files service lays them out (services/files, filesystemBlobStore). */
function objectPath(store: string, id: string): string {
  return join(store, 'objects', id.slice(0, 2), id.slice(2, 4), id);
}

/** A copy of a file; durable when it resolves. */
export async function copyDurably(source: string, target: string): Promise<void> {
  await copyFile(source, target, constants.COPYFILE_FICLONE);
  const file = await open(target, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
