import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createLogger } from '@kr/telemetry';
import { filesystemBlobStore } from '../blob/filesystem-blob-store.ts';
import { type Database, openDatabase } from '../database.ts';
import {
  type FilesUnderTest,
  GATEWAY,
  STORE_DEPS,
  startFilesUnderTest,
} from '../testing/files-under-test.ts';
import {
  type GarbageDeps,
  removeUnreferencedBlobs,
  removeUnreferencedObjects,
} from './garbage-collection.ts';

const HOUR_MS = 3_600_000;
let files: FilesUnderTest;
let database: Database;
let at = new Date();
let deps: GarbageDeps;

beforeAll(async () => {
  files = await startFilesUnderTest();
  database = openDatabase(files.config.databaseUrl);
  deps = {
    database,
    blobs: await filesystemBlobStore(files.storageDir, STORE_DEPS),
    now: () => at,
    logger: createLogger('files', { write: () => {} }),
    garbageGraceMs: 24 * HOUR_MS,
  };
});
afterAll(async () => {
  await database.close();
  await files.stop();
});

const later = (ms: number) => {
  at = new Date(at.getTime() + ms);
};

describe('the collection', () => {
  test('removes what nothing has referred to for the grace period, and nothing before', async () => {
    const kept = await files.upload('sweep-00001', 'kept.txt', 'kept');
    const shared = await files.upload('sweep-00001', 'shared.txt', 'shared');
    const gone = await files.upload('sweep-00001', 'gone.txt', 'gone');
    await files.client.importEntries(
      { ticket: files.ticket('sweep-00002', ['import_files'], 'sweep-00001') },
      GATEWAY,
    );
    const ticket = files.ticket('sweep-00001');
    await files.client.deleteEntries({ ticket, keys: ['shared.txt', 'gone.txt'] }, GATEWAY);
    await files.client.deleteEntries({ ticket: files.ticket('sweep-00002'), keys: ['gone.txt'] }, GATEWAY);

    expect((await removeUnreferencedObjects(deps)).count).toBe(0);
    later(23 * HOUR_MS);
    expect((await removeUnreferencedObjects(deps)).count).toBe(0);
    later(2 * HOUR_MS);
    expect((await removeUnreferencedObjects(deps)).count).toBe(1);
    expect((await files.storedFiles()).objects.sort()).toEqual([kept?.fileId, shared?.fileId].sort());
    expect(String((await files.get('sweep-00002', 'shared.txt')).body)).toBe('shared');
    expect(gone?.fileId).toMatch(/-/);
  });

  test('removes bytes without a row once they are old', async () => {
    const before = await files.storedFiles();
    await deps.blobs.write(randomUUID(), (async function* () {})(), { sizeHint: 1 });
    at = new Date();
    expect((await removeUnreferencedBlobs(deps)).count).toBe(0);
    later(25 * HOUR_MS);
    expect((await removeUnreferencedBlobs(deps)).count).toBe(1);
    expect(await files.storedFiles()).toEqual(before);
  });
});
