import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readlink, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, test } from '@jest/globals';
import { failingFiles, type Verdict } from '../testing/failing-files.ts';
import { STORE_DEPS } from '../testing/files-under-test.ts';
import { describeBlobStore, removeUnfinished } from './blob-store.contract.ts';
import type { AppendOptions, BlobStore } from './blob-store.ts';
import { filesystemBlobStore } from './filesystem-blob-store.ts';

const folders: string[] = [];
async function freshFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'blob-store-'));
  folders.push(folder);
  return folder;
}
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true }))));

async function* chunks(...parts: string[]) {
  for (const part of parts) yield Buffer.from(part);
}

const ROOMY = { sizeHint: 1_000 };
const PART: AppendOptions = {
  sizeHint: 1_000,
  from: 0,
  durableEvery: 3,
  onDurable: async () => {},
  beforeWrite: () => {},
};

describeBlobStore('filesystem', async () => filesystemBlobStore(await freshFolder(), STORE_DEPS));

describe('filesystem blob store', () => {
  test('removes only temporary files that have been idle for long', async () => {
    const folder = await freshFolder();
    const store = await filesystemBlobStore(folder, STORE_DEPS);
    const [old, fresh] = ['0b6b0a55-8b77-4a0b-a7a8-000000000001', '0b6b0a55-8b77-4a0b-a7a8-000000000002'];
    for (const id of [old, fresh]) await writeFile(join(folder, 'tmp', id), 'x');
    await utimes(join(folder, 'tmp', old), new Date(1_000), new Date(1_000));
    expect(await removeUnfinished(store, new Date(Date.now() - 60_000))).toBe(1);
    expect(await readdir(join(folder, 'tmp'))).toEqual([fresh]);
  });

  test.each(['objects/0b/6b', 'objects/0b'])(
    'makes the folder %s again if it was removed',
    async (removed) => {
      const folder = await freshFolder();
      const store = await filesystemBlobStore(folder, STORE_DEPS);
      const idOf = (n: number) => `0b6b0a55-8b77-4a0b-a7a8-00000000000${n}`;
      const [written, completed] = [idOf(2), idOf(3)];
      await store.write(idOf(1), chunks('first'), ROOMY);
      await rm(join(folder, removed), { recursive: true });
      await store.write(written, chunks('written'), ROOMY);
      await store.append(completed, chunks('completed'), PART);
      await rm(join(folder, removed), { recursive: true });
      await store.complete(completed, 9);
      const blob = await store.open(completed);
      expect(await text(blob.stream())).toBe('completed');
      await blob.close();
    },
  );
});

/** Descriptors of this process that are open in a folder. */
async function openIn(folder: string): Promise<number> {
  const descriptors = await readdir('/proc/self/fd');
  const targets = await Promise.all(
    descriptors.map((descriptor) => readlink(`/proc/self/fd/${descriptor}`).catch(() => '')),
  );
  return targets.filter((target) => target.startsWith(folder)).length;
}

(process.platform === 'linux' ? test : test.skip)(
  'listing 512 folders has at most three of them open, and none after it was cancelled',
  async () => {
    const folder = await freshFolder();
    const store = await filesystemBlobStore(folder, STORE_DEPS);
    const ids: string[] = [];
    for (let index = 0; index < 512; index += 1) {
      const [high, low] = [index % 256, index >> 8].map((byte) => byte.toString(16).padStart(2, '0'));
      const id = `${high}${low}0000-8b77-4a0b-a7a8-000000000001`;
      const place = join(folder, 'objects', id.slice(0, 2), id.slice(2, 4));
      await mkdir(place, { recursive: true });
      await writeFile(join(place, id), 'x');
      ids.push(id);
    }
    const before = await openIn(folder);
    const listed: string[] = [];
    let most = 0;
    for await (const { id } of store.list()) {
      most = Math.max(most, (await openIn(folder)) - before);
      listed.push(id);
    }
    expect(listed.sort()).toEqual(ids.sort());
    expect(most).toBeLessThanOrEqual(3);

    for await (const _ of store.list()) break;
    expect(await openIn(folder)).toBe(before);
  },
);

/** A store whose files behave as the verdict once it is open, and an intact one on the same folder. */
async function brokenStore(
  verdict: Verdict,
): Promise<{ store: BlobStore; sound: BlobStore; folder: string }> {
  const folder = await freshFolder();
  let isOpen = false;
  let before = 0;
  const files = failingFiles(({ nth, name }) => {
    if (!isOpen) before = nth;
    return isOpen ? verdict({ nth: nth - before, name }) : undefined;
  });
  const store = await filesystemBlobStore(folder, { ...STORE_DEPS, files });
  isOpen = true;
  return { store, sound: await filesystemBlobStore(folder, STORE_DEPS), folder };
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
}

const isSync = (name: string | undefined) => name === 'sync' || name === 'datasync';

/** After a failed fsync the same process reports no success any more, even if the next fsync succeeds. */
async function trustsNoMore(
  store: BlobStore,
  isBroken: boolean,
  again: () => Promise<unknown>,
): Promise<void> {
  const outcomes = await Promise.allSettled([store.check(), again()]);
  const expected = isBroken ? 'rejected' : 'fulfilled';
  expect(outcomes.map(({ status }) => status)).toEqual([expected, expected]);
}

/** Fails the n-th call, for every n until the work makes fewer, and returns the kind of each call. */
async function atEachCall(
  code: string,
  work: (broken: Awaited<ReturnType<typeof brokenStore>>, failed: () => string | undefined) => Promise<void>,
): Promise<string[]> {
  const failed: string[] = [];
  for (let failing = 1; failed.length === failing - 1; failing += 1) {
    const broken = await brokenStore(({ nth, name }) => {
      if (nth !== failing) return undefined;
      failed.push(name);
      return code;
    });
    await work(broken, () => failed[failing - 1]);
  }
  return failed;
}

describe.each(['EIO', 'ENOSPC'])('%s of the file system', (code) => {
  test('at any call of a write leaves nothing, and what could not be made durable is never taken for it', async () => {
    const failed = await atEachCall(code, async ({ store, sound, folder }, failedCall) => {
      const id = randomUUID();
      const [outcome] = await Promise.allSettled([store.write(id, chunks('abc', 'def'), ROOMY)]);
      const name = failedCall();
      if (name === undefined) return expect(outcome).toMatchObject({ status: 'fulfilled' });
      expect([name, outcome]).toMatchObject([
        name,
        { status: 'rejected', reason: code === 'ENOSPC' ? { kind: 'insufficient_storage' } : { code } },
      ]);
      expect([name, await filesIn(folder)]).toEqual([name, []]);
      const isBroken = code === 'EIO' && isSync(name);
      const [ready, again] = await Promise.allSettled([store.check(), store.write(id, chunks('x'), ROOMY)]);
      expect([name, ready.status, again.status]).toEqual(
        isBroken ? [name, 'rejected', 'rejected'] : [name, 'fulfilled', 'fulfilled'],
      );
      if (isBroken) expect(again).toMatchObject({ reason: { kind: 'unavailable' } });
      expect(await filesIn(folder)).toEqual(isBroken ? [] : [id]);
      await expect(sound.check()).resolves.toBeUndefined();
    });
    expect(failed).toEqual(
      expect.arrayContaining(['open', 'write', 'datasync', 'close', 'mkdir', 'rename', 'sync']),
    );
  });

  test('at any call of an append keeps the bytes reported as durable', async () => {
    const failed = await atEachCall(code, async ({ store, sound }, failedCall) => {
      const id = randomUUID();
      await sound.append(id, chunks('ab'), PART);
      let durableBytes = 2;
      const adding = store.append(id, chunks('cde', 'fgh'), {
        ...PART,
        from: 2,
        onDurable: async (total) => {
          durableBytes = total;
        },
      });
      const [outcome] = await Promise.allSettled([adding]);
      const name = failedCall();
      expect([name, outcome.status]).toEqual([name, name === undefined ? 'fulfilled' : 'rejected']);
      if (name === undefined) return;
      if (code === 'ENOSPC') expect(outcome).toMatchObject({ reason: { kind: 'insufficient_storage' } });
      await trustsNoMore(store, code === 'EIO' && isSync(name), () =>
        store.append(id, chunks('x'), { ...PART, from: durableBytes }),
      );
      await sound.append(id, chunks('cdefgh'.slice(durableBytes - 2)), { ...PART, from: durableBytes });
      await sound.complete(id, 8);
      expect(await text((await sound.open(id)).stream())).toBe('abcdefgh');
    });
    expect(failed).toEqual(expect.arrayContaining(['open', 'stat', 'write', 'datasync', 'close']));
  });

  test('at any call of a completion loses nothing', async () => {
    const failed = await atEachCall(code, async ({ store, sound }, failedCall) => {
      const id = randomUUID();
      await sound.append(id, chunks('abc'), PART);
      const [outcome] = await Promise.allSettled([store.complete(id, 3)]);
      const name = failedCall();
      expect([name, outcome.status]).toEqual([name, name === undefined ? 'fulfilled' : 'rejected']);
      if (name === undefined) return;
      await trustsNoMore(store, code === 'EIO' && isSync(name), () => store.complete(id, 3));
      await sound.complete(id, 3);
      expect(await text((await sound.open(id)).stream())).toBe('abc');
    });
    expect(failed).toEqual(expect.arrayContaining(['mkdir', 'rename', 'open', 'sync', 'close']));
  });

  test('at any call while the id is written leaves nothing but the id, and a sound store writes it again', async () => {
    const failed = await atEachCall(code, async ({ store, sound, folder }, failedCall) => {
      const [outcome] = await Promise.allSettled([store.writeStoreId('ours')]);
      const name = failedCall();
      expect([name, outcome.status]).toEqual([name, name === undefined ? 'fulfilled' : 'rejected']);
      expect([name, (await filesIn(folder)).filter((file) => file !== 'store-id')]).toEqual([name, []]);
      if (name === undefined) return;
      await trustsNoMore(store, code === 'EIO' && isSync(name), () => store.writeStoreId('ours'));
      await sound.writeStoreId('ours');
      expect(await sound.readStoreId()).toBe('ours');
    });
    expect(failed).toEqual(expect.arrayContaining(['open', 'writeFile', 'sync', 'close', 'rename']));
  });
});

test('a write of a file system that keeps failing reports the first error, and is removed later', async () => {
  let isDead = false;
  const { store, sound, folder } = await brokenStore(({ name }) => {
    isDead ||= name === 'write';
    return isDead ? 'ENOSPC' : undefined;
  });
  const id = randomUUID();
  await expect(store.write(id, chunks('abc'), ROOMY)).rejects.toMatchObject({ kind: 'insufficient_storage' });
  expect(await filesIn(folder)).toEqual([id]);
  expect(await removeUnfinished(sound, new Date(Date.now() + 60_000))).toBe(1);
});

test('an object that cannot be inspected is closed again', async () => {
  const calls: string[] = [];
  const { store, sound } = await brokenStore(({ name }) => {
    calls.push(name);
    return name === 'stat' ? 'EIO' : undefined;
  });
  const id = randomUUID();
  await sound.write(id, chunks('abc'), ROOMY);
  await expect(store.open(id)).rejects.toMatchObject({ code: 'EIO' });
  expect(calls).toEqual(['open', 'stat', 'close']);
});
