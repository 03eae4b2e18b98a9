import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { STORE_DEPS } from '../testing/files-under-test.ts';
import { describeBlobStore } from './blob-store.contract.ts';
import { filesystemBlobStore } from './filesystem-blob-store.ts';

const folders: string[] = [];
async function freshFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'blob-store-'));
  folders.push(folder);
  return folder;
}
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true }))));

describeBlobStore('filesystem', async () => filesystemBlobStore(await freshFolder(), STORE_DEPS));

describe('filesystem blob store', () => {
  test('removes only temporary files that have been idle for long', async () => {
    const folder = await freshFolder();
    const store = await filesystemBlobStore(folder, STORE_DEPS);
    const [old, fresh] = ['0b6b0a55-8b77-4a0b-a7a8-000000000001', '0b6b0a55-8b77-4a0b-a7a8-000000000002'];
    for (const id of [old, fresh]) await writeFile(join(folder, 'tmp', id), 'x');
    await utimes(join(folder, 'tmp', old), new Date(1_000), new Date(1_000));
    expect(await store.removeUnfinished(new Date(Date.now() - 60_000))).toBe(1);
    expect(await readdir(join(folder, 'tmp'))).toEqual([fresh]);
  });
});
