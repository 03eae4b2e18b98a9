import type { Sql, SqlDatabase } from '@kr/database';
import { ServiceError } from '@kr/service-error';
import type { FilesContext } from '../context.ts';
import { bucketImmutable, bucketLocked, noSuchFile } from '../file-errors.ts';
import type { FinishPublications } from './publications.ts';
import type { Bucket, BucketState, LockedBucket } from './seal-store.ts';

/** The simulation of publications has another database. */
type ChangeBucketDeps = { database: SqlDatabase } & Pick<
  FilesContext,
  'seals' | 'finishPublications' | 'now' | 'newId' | 'nudgeRelay'
>;

/** One file of one entity. */
export interface FileRef {
  entityId: string;
  key: string;
}

export type Attempt<Value> = { value: Value } | { sealedBy: string };

/**
 * Runs every change of a bucket's entries: one short transaction that locks the bucket's row, so that changes and
 * seals exclude each other. A seal in the way is finished with the coordinator once.
 * @throws ServiceError - `conflict` (code `draft_locked`): sealed by an undecided publication - `forbidden`: published -
 * `not_found`: the entity is deleted - `unavailable`: sealed, and the coordinator cannot be reached
 */
export async function changeBucket<Value>(
  { database, seals, finishPublications, now, newId, nudgeRelay }: ChangeBucketDeps,
  entityId: string,
  change: (tx: Sql, bucket: LockedBucket) => Promise<Value>,
): Promise<Value> {
  const value = await retryAfterPublication(finishPublications, () =>
    database.$transaction(async (tx): Promise<Attempt<Value>> => {
      const bucket = await seals.lockOpenBucket(tx, entityId, newId(), now());
      if (bucket !== undefined) return { value: await change(tx, bucket) };
      return { sealedBy: publicationOf(await seals.findBucket(tx, entityId)) };
    }),
  );
  nudgeRelay();
  return value;
}

/** Fails as `changeBucket` would, before a client sends bytes. */
export async function checkChangeable(
  {
    database,
    seals,
    finishPublications,
  }: Pick<ChangeBucketDeps, 'database' | 'seals' | 'finishPublications'>,
  entityId: string,
): Promise<void> {
  await retryAfterPublication(finishPublications, async () => {
    const bucket = await seals.findBucket(database, entityId);
    return bucket === undefined || bucket.state === 'open'
      ? { value: undefined }
      : { sealedBy: publicationOf(bucket) };
  });
}

/**
 * Runs an attempt, and once more after the publication that sealed the bucket is finished.
 * @throws ServiceError `conflict` (code `draft_locked`), `unavailable`, as `changeBucket` does
 */
export async function retryAfterPublication<Value>(
  finishPublications: FinishPublications,
  attempt: () => Promise<Attempt<Value>>,
): Promise<Value> {
  const first = await attempt();
  if ('value' in first) return first.value;
  await finishPublications([first.sealedBy]);
  const second = await attempt();
  if ('value' in second) return second.value;
  throw bucketLocked();
}

/** The publication that sealed the bucket. @throws ServiceError when it is closed for another reason */
function publicationOf(bucket: Bucket | undefined): string {
  if (bucket?.state === 'immutable') throw bucketImmutable();
  if (bucket?.state === 'sealed' && bucket.publicationId !== null) return bucket.publicationId;
  throw new ServiceError('not_found', 'The persistent identifier does not exist.');
}

/** The states of a file and of its bucket; null where there is none. */
export interface FileState {
  bucketState: BucketState | null;
  publicationId: string | null;
  entryState: 'pending' | 'completed' | null;
}

/** A query for the `FileState` of the key `$2` of the entity `$1`. */
export const FILE_STATE = `
  select file.*, bucket.state as "bucketState", bucket.publication_id as "publicationId", entry.state as "entryState"
  from (select $1::text as entity_id, $2::text as key) as file
  left join bucket on bucket.entity_id = file.entity_id
  left join entry on entry.entity_id = file.entity_id and entry.key = file.key`;

/**
 * The publication that must be finished before bytes are put into the file; undefined if they may be put into it now.
 * @throws ServiceError
 *   - `not_found`: no such file, or its entity is deleted
 *   - `invalid`: completed already
 *   - `forbidden`: published
 */
export function blockingPublication(
  { bucketState, publicationId, entryState }: FileState,
  file: FileRef,
): string | undefined {
  if (bucketState !== null && bucketState !== 'open')
    return publicationOf({ state: bucketState, publicationId });
  assertPending(entryState, file);
  return undefined;
}

function assertPending(state: FileState['entryState'], { entityId, key }: FileRef): void {
  if (state === null) throw noSuchFile(entityId, key);
  if (state === 'completed')
    throw new ServiceError('invalid', 'The file upload transfer failed, please try again.', {
      code: 'file_completed',
      members: { hint: `${key} is complete already; delete it before you upload it again.` },
    });
}

/** @throws ServiceError `not_found`: no file can have that name, because Postgres cannot store it */
export function assertStorable({ entityId, key }: FileRef): void {
  if (key.includes('\0') || entityId.includes('\0')) throw noSuchFile(entityId, key);
}

export async function findFileState(sql: Sql, file: FileRef): Promise<FileState> {
  assertStorable(file);
  const [state] = await sql.$queryRawUnsafe<[FileState]>(FILE_STATE, file.entityId, file.key);
  return state;
}

/** Checks an entry whose bucket is checked or locked. @throws ServiceError `not_found`, `invalid` as `blockingPublication` does */
export async function checkPending(sql: Sql, file: FileRef): Promise<void> {
  assertPending((await findFileState(sql, file)).entryState, file);
}
