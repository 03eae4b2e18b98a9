import type { Sql } from '@kr/database';
import type { Logger } from '@kr/telemetry';
import type { BlobStore } from './blob-store.ts';
import { MissingObject, storeAway } from './blob-store.ts';
import { claimedIdentity, type OwnIdentity, problemOf, UnreadableStore } from './store-identity.ts';

export interface VerifiedStoreDeps {
  database: Sql;
  now: () => Date;
  newId: () => string;
  logger: Logger;
}

/**
 * A store that is used only while it has the identity recorded in the database, so that an unmounted, empty
 * or foreign disk is not mistaken for a store with all objects missing. The identity is checked
 * before the first use, at each check, before a listing and when an object is missing. A store without an identity
 * gets one if `problemOf` recognises it. If writing it fails, the store is used anyway and the next check tries again: its
 * disk may be full.
 * @throws ServiceError `unavailable` from every operation while the store has another identity
 */
export function verifiedStore(
  store: BlobStore,
  { database, now, newId, logger }: VerifiedStoreDeps,
): BlobStore {
  let isVerified = false;
  let isWritable = true;
  let verifying: Promise<void> | undefined;
  let lastProblem = '';

  const verify = (): Promise<void> => {
    verifying ??= verifyNow().finally(() => {
      verifying = undefined;
    });
    return verifying;
  };
  const verifyNow = async (): Promise<void> => {
    const own = await claimedIdentity(database, newId);
    const problem = await problemOf(store, database, own).catch((error: unknown) => {
      if (error instanceof UnreadableStore) return error.message;
      throw error;
    });
    isVerified = problem === undefined;
    // Each problem is logged once while it lasts.
    if (problem !== undefined && problem !== lastProblem)
      logger.error({ storage_problem: problem }, 'the storage of files is not used');
    if (problem === undefined && lastProblem !== '') logger.info('the storage of files is used again');
    lastProblem = problem ?? '';
    if (problem !== undefined) throw storeAway(new Error(problem));
    if (own.claimedAt === null) await writeId(own);
  };

  const writeId = async ({ id }: OwnIdentity): Promise<void> => {
    try {
      // Also when it exists: the process that wrote it may have died before it was durable.
      await store.writeStoreId(id);
    } catch (err) {
      if (isWritable) logger.warn({ err }, 'the id of the storage of files cannot be written, retrying');
      isWritable = false;
      return;
    }
    isWritable = true;
    await database.$executeRawUnsafe(
      'update store_identity set claimed_at = $1 where claimed_at is null',
      now(),
    );
  };

  const verified =
    <Args extends unknown[], Outcome>(operation: (...args: Args) => Promise<Outcome>) =>
    async (...args: Args): Promise<Outcome> => {
      if (!isVerified) await verify();
      return operation(...args);
    };
  const verifiedNow = <Args extends unknown[], Item>(list: (...args: Args) => AsyncIterable<Item>) =>
    async function* (...args: Args): AsyncGenerator<Item> {
      await verify();
      yield* list(...args);
    };

  return {
    ...store,
    write: verified(store.write),
    append: verified(store.append),
    complete: verified(store.complete),
    removeIncomplete: verified(store.removeIncomplete),
    listIncomplete: verifiedNow(store.listIncomplete),
    open: verified(async (id) => {
      try {
        return await store.open(id);
      } catch (error) {
        if (error instanceof MissingObject) await verify();
        throw error;
      }
    }),
    remove: verified(store.remove),
    list: verifiedNow(store.list),
    listUnfinished: verifiedNow(store.listUnfinished),
    check: async () => {
      await verify();
      await store.check();
    },
  };
}
