import type { Sql } from '@kr/database';
import { type BlobStore, MissingObject } from './blob-store.ts';
import { findUnreferenced } from './unreferenced-blobs.ts';

/** The identity of the store that belongs to a database. */
export interface OwnIdentity {
  id: string;
  /** When the id was written into the store; null before. */
  claimedAt: Date | null;
}

/** The first call creates it. */
export async function claimedIdentity(sql: Sql, newId: () => string): Promise<OwnIdentity> {
  await sql.$executeRawUnsafe('insert into store_identity (id) values ($1) on conflict do nothing', newId());
  const [own] = await sql.$queryRawUnsafe<[OwnIdentity]>(
    'select id, claimed_at as "claimedAt" from store_identity',
  );
  return own;
}

export class UnreadableStore extends Error {
  override readonly name = 'UnreadableStore';

  constructor(cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    super(`The storage of files cannot be read: ${reason}`, { cause });
  }
}

/** Recent objects, of which at least one exists in an intact store. */
const NEWEST_OBJECTS = 'select id from object order by created_at desc limit 20';

/**
 * Why the store must not be used, for operators; undefined if it belongs to the database: if it has its identity or, without
 * any, one of its newest objects. If the database has none, the store must be empty or have an upload of the database.
 * @throws UnreadableStore
 */
export async function problemOf(store: BlobStore, sql: Sql, own: OwnIdentity): Promise<string | undefined> {
  const place = store.storeIdPath;
  const foreign = (problem: string) =>
    `${problem} If these bytes belong to this database all the same, write ${own.id} into ${place}.`;

  const found = await store.readStoreId().catch(unreadable);
  if (found === own.id) return undefined;
  if (found !== undefined)
    return foreign(
      `The storage of files is that of another database: ${place} is ${found}. Give this service its own storage, or the database that belongs to it.`,
    );
  if (own.claimedAt !== null)
    return foreign(
      `The storage of files is not the one of this database: ${place} is missing. Mount the disk, or bring the files back from a backup.`,
    );
  const objects = await sql.$queryRawUnsafe<{ id: string }[]>(NEWEST_OBJECTS);
  if (objects.length > 0 && !(await hasOneOf(store, objects)))
    return foreign(
      'The storage of files has none of the objects in the database. Mount the disk, or restore the files from a backup.',
    );
  if (objects.length === 0 && !(await isEmptyOrHasUploads(store, sql)))
    return foreign(
      'The storage has files and the database knows of none. Give this service its own storage, or the database that belongs to it.',
    );
  return undefined;
}

function unreadable(error: unknown): never {
  throw new UnreadableStore(error);
}

/** Also if some cannot be read. */
async function hasOneOf(store: BlobStore, objects: readonly { id: string }[]): Promise<boolean> {
  let failure: unknown;
  for (const { id } of objects) {
    try {
      await (await store.open(id)).close();
      return true;
    } catch (error) {
      if (!(error instanceof MissingObject)) failure = error;
    }
  }
  return failure === undefined ? false : unreadable(failure);
}

/** More than the number of simultaneous uploads, and few enough for one statement. */
const LISTED_OBJECTS = 500;
/** Uploads count by their rows, also long after they have expired. */
const EVER = new Date(0);

/** A crash leaves bytes of uploads that do not count yet: rows name them, as no other database's do. */
async function isEmptyOrHasUploads(store: BlobStore, sql: Sql): Promise<boolean> {
  const ids: string[] = [];
  try {
    for await (const { id } of store.list()) if (ids.push(id) === LISTED_OBJECTS) break;
  } catch (error) {
    unreadable(error);
  }
  if (ids.length === 0) return true;
  const unreferenced = await findUnreferenced(sql, ids, { source: 'objects and uploads', before: EVER });
  return unreferenced.size < ids.length;
}
