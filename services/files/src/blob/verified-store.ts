import type { Sql } from '@kr/database';
import type { ServiceError } from '@kr/service-error';
import type { Logger } from '@kr/telemetry';
import type { BlobStore } from './blob-store.ts';
import { MissingObject, storeAway } from './blob-store.ts';
import { unnamed } from './named-bytes.ts';

export interface KnownStoreDeps {
  database: Sql;
  now: () => Date;
  newId: () => string;
  logger: Logger;
}

/** Recent objects, of which at least one exists in an intact store. */
const NEWEST_OBJECTS = 'select id from object order by created_at desc limit 20';
/** More than uploads are under way at a time, and few enough to be looked up at once. */
const LISTED_OBJECTS = 500;
/** Uploads count by their rows, however long their time has been over. */
const EVER = new Date(0);

/**
 * A store that is used only while it has the identity recorded in the database, so that an unmounted, empty
 * or foreign disk is not mistaken for a store with all objects missing. The identity is checked
 * before the first use, at each check, before a listing and when an object is missing. A store without an identity
 * gets one when one of the newest objects of the database is in it, or, if the database has none,
 * when the store is empty or contains an upload of this database. If writing it fails, the store is used anyway
 * and the next check tries again.
 * @throws ServiceError `unavailable` from every operation while the store has another identity
 */
export function verifiedStore(store: BlobStore, { database, now, newId, logger }: KnownStoreDeps): BlobStore {
  let isKnown = false;
  let isMarkable = true;
  let looking: Promise<void> | undefined;
  let lastProblem = '';

  const look = (): Promise<void> => {
    looking ??= lookNow().finally(() => {
      looking = undefined;
    });
    return looking;
  };
  const lookNow = async (): Promise<void> => {
    const own = await ownMark(database, newId);
    const problem = await problemOf(await store.readMark().catch(unreadable), own);
    isKnown = problem === undefined;
    if (problem !== undefined)
      throw unused(
        `${problem} If these bytes belong to this database all the same, write ${own.id} into ${store.markPlace}.`,
      );
    if (lastProblem !== '') logger.info('the storage of files is the known one again');
    lastProblem = '';
    if (own.markedAt === null) await mark(own.id);
  };

  /**
   * A store that is recognised by its objects is used also while its identity cannot be written: its disk may
   * be full.
   */
  const mark = async (id: string): Promise<void> => {
    try {
      // Also when it exists: the process that wrote it may have died before it was durable.
      await store.writeMark(id);
    } catch (err) {
      if (isMarkable) logger.warn({ err }, 'the storage of files cannot be marked, trying on');
      isMarkable = false;
      return;
    }
    isMarkable = true;
    await database.$executeRawUnsafe('update store_mark set marked_at = $1 where marked_at is null', now());
  };

  /** Logs it once while it lasts. */
  const unused = (problem: string, cause?: unknown): ServiceError => {
    if (lastProblem !== problem)
      logger.error({ storage_problem: problem }, 'the storage of files is not used');
    lastProblem = problem;
    return storeAway(new Error(problem, { cause }));
  };
  const unreadable = (error: unknown): never => {
    const reason = error instanceof Error ? error.message : String(error);
    throw unused(`The storage of files cannot be read: ${reason}`, error);
  };

  /** Undefined when the store is ours. */
  const problemOf = async (
    found: string | undefined,
    own: { id: string; markedAt: Date | null },
  ): Promise<string | undefined> => {
    const place = store.markPlace;
    if (found === own.id) return undefined;
    if (found !== undefined)
      return `The storage of files is that of another database: ${place} is ${found}. Give this service its own storage, or the database that belongs to it.`;
    if (own.markedAt !== null)
      return `The storage of files is not the one this database knows: ${place} is missing. Mount the disk, or bring the files back from a backup.`;
    const objects = await database.$queryRawUnsafe<{ id: string }[]>(NEWEST_OBJECTS);
    if (objects.length > 0 && !(await hasOneOf(objects)))
      return 'The storage of files has none of the objects in the database. Mount the disk, or restore the files from a backup.';
    if (objects.length === 0 && !(await isEmptyOrOfUploads()))
      return 'The storage has files and the database knows of none. Give this service its own storage, or the database that belongs to it.';
    return undefined;
  };

  /** Also where some cannot be read. */
  const hasOneOf = async (objects: readonly { id: string }[]): Promise<boolean> => {
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
  };
  /** A crash leaves bytes of uploads that do not count yet: rows name them, as no other database's do. */
  const isEmptyOrOfUploads = async (): Promise<boolean> => {
    const ids = await listed(LISTED_OBJECTS).catch(unreadable);
    if (ids.length === 0) return true;
    const unreferenced = await unnamed(database, ids, { namedIn: 'objects and uploads', before: EVER });
    return unreferenced.size < ids.length;
  };
  const listed = async (limit: number): Promise<string[]> => {
    const ids: string[] = [];
    for await (const { id } of store.list()) if (ids.push(id) === limit) break;
    return ids;
  };

  /** The operation, in a store that has been seen to be the known one. */
  const known =
    <Args extends unknown[], Outcome>(operation: (...args: Args) => Promise<Outcome>) =>
    async (...args: Args): Promise<Outcome> => {
      if (!isKnown) await look();
      return operation(...args);
    };
  const knownNow = <Args extends unknown[], Item>(list: (...args: Args) => AsyncIterable<Item>) =>
    async function* (...args: Args): AsyncGenerator<Item> {
      await look();
      yield* list(...args);
    };

  return {
    ...store,
    write: known(store.write),
    append: known(store.append),
    complete: known(store.complete),
    removeIncomplete: known(store.removeIncomplete),
    listIncomplete: knownNow(store.listIncomplete),
    open: known(async (id) => {
      try {
        return await store.open(id);
      } catch (error) {
        if (error instanceof MissingObject) await look();
        throw error;
      }
    }),
    remove: known(store.remove),
    list: knownNow(store.list),
    listUnfinished: knownNow(store.listUnfinished),
    check: async () => {
      await look();
      await store.check();
    },
  };
}

interface StoreMark {
  id: string;
  /** When the store was first seen to have it; null before. */
  markedAt: Date | null;
}

/** The identity for the store of these rows' bytes; created by the first call. */
async function ownMark(sql: Sql, newId: () => string): Promise<StoreMark> {
  await sql.$executeRawUnsafe('insert into store_mark (id) values ($1) on conflict do nothing', newId());
  const [mark] = await sql.$queryRawUnsafe<[StoreMark]>('select id, marked_at as "markedAt" from store_mark');
  return mark;
}
