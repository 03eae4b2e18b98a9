import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, test } from '@jest/globals';
import { STORE_DEPS } from '../testing/files-under-test.ts';
import { type DiskState, stateAt, tryPowerCuts } from '../testing/power-cuts.ts';
import { type RecordedDisk, type Recording, recordedDisk } from '../testing/recorded-disk.ts';
import type { BlobStore } from './blob-store.ts';
import { filesystemBlobStore } from './filesystem-blob-store.ts';

const folders: string[] = [];
async function freshFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'power-cut-'));
  folders.push(folder);
  return folder;
}
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true }))));

async function* chunks(...parts: string[]) {
  for (const part of parts) yield Buffer.from(part);
}

async function* broken(...parts: string[]) {
  yield* chunks(...parts);
  throw new Error('the line broke');
}

const ROOMY = { sizeHint: 1_000, beforeWrite: () => {} };

/** A client of a store, and the reports that it has received. */
class Users {
  readonly disk: RecordedDisk;
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
    this.disk = recordedDisk(root);
  }

  store(): Promise<BlobStore> {
    return filesystemBlobStore(this.#root, { ...STORE_DEPS, files: this.disk.files });
  }

  #objectOf(id: string): string {
    return join(this.#root, 'objects', id.slice(0, 2), id.slice(2, 4), id);
  }

  /** The object is reported as stored. */
  #stored(id: string, content: string): () => void {
    return this.disk.guarantee({
      name: `object ${content}`,
      paths: [this.#objectOf(id)],
      isIntact: (bytes) => String(bytes) === content,
    });
  }

  async put(store: BlobStore, content: string, id: string = randomUUID()): Promise<() => void> {
    await store.write(id, chunks(...content.split(/(?=-)/)), { sizeHint: 1_000 });
    return this.#stored(id, content);
  }

  /** Reports the durable size of an upload each time. */
  async append(store: BlobStore, id: string, from: string, source: AsyncIterable<Uint8Array>, whole: string) {
    const guarantee = (total: number) =>
      this.disk.guarantee({
        name: `the first ${total} bytes of ${whole}`,
        paths: [join(this.#root, 'incomplete', id), this.#objectOf(id)],
        isIntact: (bytes) => String(bytes).startsWith(whole.slice(0, total)),
      });
    const { totalBytes } = await store.append(id, source, {
      ...ROOMY,
      from: from.length,
      durableEvery: 4,
      onDurable: async (total) => void guarantee(total),
    });
    guarantee(totalBytes);
    return totalBytes;
  }

  async resumable(store: BlobStore, id: string = randomUUID()): Promise<void> {
    await this.append(store, id, '', chunks('abc', 'def'), 'abcdefghijkl');
    await this.append(store, id, 'abcdef', chunks('ghijkl'), 'abcdefghijkl');
    await this.complete(store, id);
  }

  async complete(store: BlobStore, id: string): Promise<void> {
    await store.complete(id, 12);
    this.#stored(id, 'abcdefghijkl');
  }
}

/** The effect of omitting each sync: the positions of the necessary ones. */
function idleSyncs(root: string, recording: Recording): string[] {
  const idle = recording.syncs.filter((left) => {
    const syncs = recording.syncs.filter((sync) => sync !== left);
    const { changes, guarantees, moments } = recording;
    return tryPowerCuts(root, { changes, guarantees, moments, syncs }).broken.length === 0;
  });
  return idle.map(({ of }) => (typeof of === 'string' ? relative(root, of) : `file ${of}`));
}

describe('a power cut', () => {
  test('at any moment of uploads of all kinds, by two processes at once, loses no reported bytes', async () => {
    const root = await freshFolder();
    const users = new Users(root);
    const [one, other] = await Promise.all([users.store(), users.store()]);
    const replaced = await users.put(one, 'replaced-later');
    const neighbours = ['0b6b0a55-8b77-4a0b-a7a8-000000000001', '0b6b0a55-8b77-4a0b-a7a8-000000000002'];
    await Promise.all([
      users.put(one, 'first-in-its-folder', neighbours[0]),
      users.put(other, 'second-in-its-folder', neighbours[1]),
      users.put(one, ''),
      users.resumable(other),
    ]);
    await expect(one.write(randomUUID(), broken('lost'), { sizeHint: 9 })).rejects.toThrow('broke');
    const id = randomUUID();
    // No client receives these reports, as when the process dies before: they are cut off first.
    await one.append(id, chunks('other bytes'), {
      ...ROOMY,
      from: 0,
      durableEvery: 4,
      onDurable: async () => {},
    });
    await users.append(other, id, '', broken('abcde', 'f'), 'abcdefghijkl');
    await users.append(one, id, 'abcdef', chunks('gh', 'ij', 'kl'), 'abcdefghijkl');
    await Promise.allSettled([users.complete(one, id), users.complete(other, id)]);
    replaced();
    await one.writeStoreId('the id');
    users.disk.guarantee({
      name: 'the id',
      paths: [one.storeIdPath],
      isIntact: (bytes) => String(bytes) === 'the id\n',
    });

    const { states, broken: found } = tryPowerCuts(root, users.disk);
    expect(found).toEqual([]);
    expect(states).toBeGreaterThan(300);
  });

  test.each<{ name: string; idle: string[]; use: (users: Users) => Promise<unknown> }>([
    {
      name: 'an upload at once',
      idle: [],
      use: async (users) => users.put(await users.store(), 'in-two-chunks'),
    },
    { name: 'a resumable upload', idle: [], use: async (users) => users.resumable(await users.store()) },
    {
      name: 'the id of the store',
      // That of the folders for objects, when the store is opened: the id lies in none of them.
      idle: [''],
      use: async (users) => {
        const store = await users.store();
        await store.writeStoreId('the id');
        const isIntact = (bytes: Buffer) => String(bytes) === 'the id\n';
        users.disk.guarantee({ name: 'the id', paths: [store.storeIdPath], isIntact });
      },
    },
  ])('would take from $name if any one of its syncs were left out', async ({ use, idle }) => {
    const root = await freshFolder();
    const users = new Users(root);
    await use(users);
    expect(tryPowerCuts(root, users.disk).broken).toEqual([]);
    expect(users.disk.syncs.length).toBeGreaterThan(1);
    expect(idleSyncs(root, users.disk)).toEqual(idle);
  });

  test('at any moment of a resumable upload leaves what the next process goes on from', async () => {
    const root = await freshFolder();
    const users = new Users(root);
    const id = randomUUID();
    await users.resumable(await users.store(), id);
    const { disk } = users;
    const states = new Set<string>();
    for (let moment = 1; moment <= disk.moments; moment += 1) {
      for (const fate of ['lost', 'survives'] as const) {
        const state = stateAt(root, disk, moment, fate);
        const count = disk.guarantees.filter(({ since }) => since <= moment).length;
        const name = JSON.stringify([count, [...state].map(([path, bytes]) => [path, String(bytes)])]);
        if (states.has(name)) continue;
        states.add(name);
        expect(await goneOn(root, state, id, durableAt(disk, moment))).toBe('abcdefghijkl');
      }
    }
    expect(states.size).toBeGreaterThan(10);
  });
});

/** The number of bytes reported to a client as durable. */
function durableAt({ guarantees }: Recording, moment: number): number {
  const guarantee = guarantees
    .filter(({ since }) => since <= moment)
    .map(({ name }) => /the first (\d+)/.exec(name)?.[1] ?? '12');
  return Math.max(0, ...guarantee.map(Number));
}

/** The upload after a process has found this disk and finished it. */
async function goneOn(root: string, state: DiskState, id: string, from: number): Promise<string> {
  const folder = await freshFolder();
  for (const [path, bytes] of state) {
    const found = join(folder, relative(root, path));
    await mkdir(bytes === undefined ? found : dirname(found), { recursive: true });
    if (bytes !== undefined) await writeFile(found, bytes);
  }
  const store = await filesystemBlobStore(folder, STORE_DEPS);
  const whole = 'abcdefghijkl';
  const options = { ...ROOMY, from, durableEvery: 100, onDurable: async () => {} };
  if (from < whole.length) await store.append(id, chunks(whole.slice(from)), options);
  await store.complete(id, 12);
  return text((await store.open(id)).stream());
}
