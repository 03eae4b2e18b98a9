import type { BackupSystem } from './backup-system.ts';
import { openSession } from './open-session.ts';
import { readStoreId } from './stored-objects.ts';

/**
 * Makes sure that the folder of bytes is the one that the database of the files service knows: for a stopped
 * local system it is unknown whether its files are in a bucket.
 *
 * @throws Error when it is another, or none
 */
export async function assertOwnStore({ databaseUrls, filesFolder }: BackupSystem): Promise<void> {
  if (filesFolder === undefined) return;
  const storeId = await knownStoreId(databaseUrls.files);
  if (storeId === undefined || storeId === (await readStoreId(filesFolder))) return;
  throw new Error(
    `The bytes of this system's files are not in ${filesFolder}, but in a bucket or another folder: back them up where they are, and add --without-files.`,
  );
}

/** The stored `store-id`; undefined if no store was used yet, or the tables do not exist. */
async function knownStoreId(databaseUrl: string): Promise<string | undefined> {
  const client = await openSession(databaseUrl, 'backup');
  try {
    const { rows: tables } = await client.query<{ is_there: boolean }>(
      `select to_regclass('store_identity') is not null as is_there`,
    );
    if (tables[0]?.is_there !== true) return undefined;
    const { rows } = await client.query<{ id: string }>(
      'select id::text from store_identity where claimed_at is not null',
    );
    return rows[0]?.id;
  } finally {
    await client.end();
  }
}
