import type { Sql } from '@kr/database';
import { ServiceError } from '@kr/service-error';
import { noSuchFile } from '../file-errors.ts';
import { Prisma } from '../gen/prisma/client.ts';
import type { ContentPath } from '../http/content-path.ts';
import type { BucketState } from '../store/bucket-store.ts';
import { sealOf } from './change-bucket.ts';

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
