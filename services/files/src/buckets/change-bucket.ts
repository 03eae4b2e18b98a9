import type { Sql } from '@kr/database';
import { ServiceError } from '@kr/service-error';
import { bucketImmutable, bucketLocked, noSuchFile } from '../file-errors.ts';
import { Prisma } from '../gen/prisma/client.ts';
import type { ContentPath } from '../http/content-path.ts';
import type { Bucket, BucketState, LockedBucket } from '../store/bucket-store.ts';
import type { SettlePublications } from './publications.ts';
import type { SealStore } from './seal-store.ts';

export interface ChangeBucketDeps<T = Sql> {
  seals: SealStore<T>;
  settle: SettlePublications;
  now: () => Date;
  newId: () => string;
  /** Called after a change is durable, so that its events leave at once. */
  nudgeRelay: () => void;
}

export type Attempt<Value> = { value: Value } | { sealedBy: string };

/**
 * Runs every change of a bucket's entries: one short transaction that locks the bucket's row, so that changes and
 * seals exclude each other. A seal in the way is settled with the coordinator once.
 * @throws ServiceError - `conflict` (code `draft_locked`): sealed by an undecided publication - `forbidden`: published -
 * `not_found`: the entity is deleted - `unavailable`: sealed, and the coordinator cannot be reached
 */
export async function changeBucket<Value, T = Sql>(
  deps: ChangeBucketDeps<T>,
  entityId: string,
  change: (tx: T, bucket: LockedBucket) => Promise<Value>,
): Promise<Value> {
  const { seals } = deps;
  const value = await settlingSeals(deps, () =>
    seals.transaction(async (tx): Promise<Attempt<Value>> => {
      const bucket = await seals.lockOpenBucket(tx, entityId, deps.newId(), deps.now());
      if (bucket !== undefined) return { value: await change(tx, bucket) };
      return { sealedBy: sealOf(await seals.findBucket(tx, entityId)) };
    }),
  );
  deps.nudgeRelay();
  return value;
}

/** Fails as `changeBucket` would, before a client sends bytes. */
export async function checkChangeable<T>(
  { seals, settle }: Pick<ChangeBucketDeps<T>, 'seals' | 'settle'>,
  entityId: string,
): Promise<void> {
  await settlingSeals({ settle }, async (): Promise<Attempt<undefined>> => {
    const bucket = await seals.findBucket(seals.outside, entityId);
    if (bucket === undefined || bucket.state === 'open') return { value: undefined };
    return { sealedBy: sealOf(bucket) };
  });
}

/**
 * Runs a statement, and after the publication that sealed the bucket is settled, once more.
 * @throws ServiceError `conflict` (code `draft_locked`), `unavailable`, as `changeBucket` does
 */
export async function settlingSeals<Value>(
  { settle }: Pick<ChangeBucketDeps, 'settle'>,
  attempt: () => Promise<Attempt<Value>>,
): Promise<Value> {
  const first = await attempt();
  if ('value' in first) return first.value;
  await settle([first.sealedBy]);
  const second = await attempt();
  if ('value' in second) return second.value;
  throw bucketLocked();
}

/** The publication that sealed the bucket. @throws ServiceError when it is closed for another reason */
function sealOf(bucket: Bucket | undefined): string {
  if (bucket?.state === 'immutable') throw bucketImmutable();
  if (bucket?.state === 'sealed' && bucket.publicationId !== null) return bucket.publicationId;
  throw new ServiceError('not_found', 'The persistent identifier does not exist.');
}

/** The states of a file and of its bucket; null where there is none. */
export interface FileState {
  bucket_state: BucketState | null;
  publication_id: string | null;
  entry_state: 'pending' | 'completed' | null;
}

/** A query for one `FileState`. @throws ServiceError `not_found`: no file can have that name */
export function selectFileState({ entityId, key }: ContentPath): Prisma.Sql {
  // Postgres cannot store such a text, and fails on it.
  if (key.includes('\0') || entityId.includes('\0')) throw noSuchFile(entityId, key);
  return Prisma.sql`
    select bucket.state as bucket_state, bucket.publication_id, entry.state as entry_state
    from (select ${entityId}::text as entity_id, ${key}::text as key) as file
    left join bucket on bucket.entity_id = file.entity_id
    left join entry on entry.entity_id = file.entity_id and entry.key = file.key`;
}

/**
 * The publication that must be settled before bytes are put into the file; undefined if they may be put into it now.
 * @throws ServiceError
 *   - `not_found`: no such file, or its entity is deleted
 *   - `invalid`: completed already
 *   - `forbidden`: published
 */
export function sealOver(
  { bucket_state, publication_id, entry_state }: FileState,
  path: ContentPath,
): string | undefined {
  if (bucket_state !== null && bucket_state !== 'open')
    return sealOf({ state: bucket_state, publicationId: publication_id });
  assertPending(entry_state, path);
  return undefined;
}

function assertPending(state: FileState['entry_state'], { entityId, key }: ContentPath): void {
  if (state === null) throw noSuchFile(entityId, key);
  if (state === 'completed')
    throw new ServiceError('invalid', 'The file upload transfer failed, please try again.', {
      code: 'file_completed',
      members: { hint: `${key} is complete already; delete it before you upload it again.` },
    });
}

export async function findFileState(sql: Sql, path: ContentPath): Promise<FileState> {
  const { text, values } = selectFileState(path);
  const [state] = await sql.$queryRawUnsafe<FileState[]>(text, ...values);
  return state ?? { bucket_state: null, publication_id: null, entry_state: null };
}

/** Checks an entry whose bucket is checked or locked. @throws ServiceError `not_found`, `invalid` as `sealOver` does */
export async function checkPending(sql: Sql, path: ContentPath): Promise<void> {
  assertPending((await findFileState(sql, path)).entry_state, path);
}
