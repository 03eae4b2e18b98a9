import { entryRows, insertEntries, ticketEntry } from '@kr/audit-trail';
import type { Principal, Ticket } from '@kr/caller';
import type { NewEntry__Output } from '@kr/contracts';
import { executeWithNext, type Sql } from '@kr/database';
import { appendEvents } from '@kr/event-bus';
import { ServiceError } from '@kr/service-error';
import { changeBucket, checkChangeable } from '../buckets/change-bucket.ts';
import type { FilesContext } from '../context.ts';
import { fileEntryMessage, listFiles } from '../file-entry.ts';
import { invalidField } from '../file-errors.ts';
import type { Rpc } from '../rpc.ts';
import { entryEvent } from './entry-event.ts';
import { assertMetadataFits, entryMetadata, metadataBytes } from './entry-metadata.ts';

const MAX_KEY_BYTES = 255;

/** The problem of a file's key. `length` has a separate message in the public API. */
export type KeyProblem = 'empty' | 'length' | 'characters';

/**
 * A key is 1 to 255 bytes of UTF-8 without control characters, characters that change the direction of text, `/` and `\`, and
 * neither `.` nor `..`. It is stored unchanged and never becomes a path. U+FFFD marks undecodable characters.
 */
export function keyProblem(key: string): KeyProblem | undefined {
  if (key === '') return 'empty';
  if (Buffer.byteLength(key) > MAX_KEY_BYTES) return 'length';
  if (key === '.' || key === '..' || /[\p{Cc}\p{Bidi_Control}/\\\ufffd]/u.test(key) || !key.isWellFormed())
    return 'characters';
  return undefined;
}

interface Start {
  key: string;
  metadata: string | null;
}

/**
 * RPC StartUploads. A repeated call with the same creation key changes nothing.
 *
 * @throws ServiceError
 *   - `invalid`: a key that is bad, taken, or named twice; metadata that is no object; too many files
 *   - the errors of `changeBucket`
 */
export function startUploads(deps: FilesContext): Rpc<'StartUploads'> {
  return async ({ ticket, entries, creationKey }, { principal }) => {
    const opened = deps.openTicket(ticket, 'write');
    const { entityId } = opened;
    const starts = entries.map(checkedStart);
    if (starts.length === 0) {
      await checkChangeable(deps, entityId);
      return { entries: (await listFiles(deps.database, entityId)).map(fileEntryMessage) };
    }
    const all = await changeBucket(deps, entityId, async (tx, bucket) => {
      const isFirst = await addEntries(tx, deps, { opened, principal, starts, creationKey });
      // The first entry changes the access status of the draft, which is indexed.
      const [first] = starts;
      if (isFirst && first !== undefined) await appendEvents(tx, [entryEvent('started', bucket, first.key)]);
      return listFiles(tx, entityId);
    });
    return { entries: all.map(fileEntryMessage) };
  };
}

function checkedStart({ key, metadataJson }: NewEntry__Output, index: number): Start {
  const problem = keyProblem(key);
  if (problem === 'empty') throw invalidField(`${index}.key`, 'Missing data for required field.');
  if (problem === 'length') throw new ServiceError('invalid', 'Filename is too long.');
  if (problem === 'characters')
    throw invalidField(
      `${index}.key`,
      'Not a valid file name: it has a control or text direction character, "/" or "\\", or is "." or "..".',
    );
  return { key, metadata: entryMetadata(metadataJson, `${index}.metadata`) };
}

// Events written before the check are rolled back with the transaction if it fails.
const AUDIT_AND_COUNT = `
  with owned as (
    update bucket set owner_id = $3
    where entity_id = $1 and $3::text is not null and owner_id is distinct from $3
  ), repeated as (
    select from entry where entity_id = $1 and creation_key = $5 limit 1
  ), audited as (${insertEntries('$4', '(select where not exists (select from repeated)) as first')})
  select exists (select from repeated) as "isRepeated", count(*)::int as count, coalesce(max(position), 0)::int as last,
    coalesce(array_agg(key) filter (where key = any($2::text[])), '{}') as taken,
    coalesce(sum(octet_length(metadata)), 0)::int as metadata
  from entry where entity_id = $1`;

interface EntryCounts {
  /** Whether an earlier call with the same creation key has added entries. */
  isRepeated: boolean;
  count: number;
  /** The position of the last entry. */
  last: number;
  /** The requested keys that exist. */
  taken: string[];
  /** The bytes of the metadata of all entries. */
  metadata: number;
}

const INSERT = `
  insert into entry (entity_id, key, position, state, metadata, created_at, updated_at, creation_key)
  select $1, key, $4::int + number, 'pending', metadata, $5::timestamptz, $5::timestamptz, $6::bytea
  from unnest($2::text[], $3::text[]) with ordinality as started (key, metadata, number)`;

interface AddedEntries {
  opened: Ticket;
  principal: Principal;
  starts: readonly Start[];
  /** Empty without one. */
  creationKey: Uint8Array;
}

/** Whether they are the first entries of the bucket. */
async function addEntries(
  tx: Sql,
  { maxFilesPerEntity, now }: FilesContext,
  { opened, principal, starts, creationKey }: AddedEntries,
): Promise<boolean> {
  const keys = starts.map(({ key }) => key);
  const { entityId, ownerId } = opened;
  const entries = keys.map((key) => ticketEntry(principal, 'file.init', opened, { key }));
  const created = creationKey.length === 0 ? null : creationKey;
  const [{ isRepeated, count, last, taken, metadata }] = await tx.$queryRawUnsafe<[EntryCounts]>(
    AUDIT_AND_COUNT,
    ...[entityId, keys, ownerId ?? null, entryRows(entries), created],
  );
  if (isRepeated) return false;
  const used = new Set(taken);
  for (const key of keys) {
    if (used.has(key))
      throw new ServiceError('invalid', `File with key ${key} already exists.`, { code: 'file_exists' });
    used.add(key);
  }
  if (count + keys.length > maxFilesPerEntity)
    throw new ServiceError(
      'invalid',
      'Uploading selected files will result in exceeding the max amount per record.',
      {
        code: 'too_many_files',
        issues: [{ field: 'files', messages: [`At most ${maxFilesPerEntity} files are allowed.`] }],
      },
    );
  const added = starts.reduce((sum, start) => sum + metadataBytes(start.metadata), 0);
  if (added > 0) assertMetadataFits(metadata + added, '_schema');
  const metadatas = starts.map((start) => start.metadata);
  await executeWithNext(tx, INSERT, entityId, keys, metadatas, last, now(), created);
  return count === 0;
}
