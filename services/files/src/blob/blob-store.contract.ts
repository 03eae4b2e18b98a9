import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from '@jest/globals';
import type { AppendOptions, BlobStore, ListedBlob } from './blob-store.ts';

const ROOMY = { sizeHint: 1_000_000_000 };

async function* chunks(...parts: (string | Uint8Array)[]) {
  for (const part of parts) yield Buffer.from(part);
}

async function* failing(...parts: string[]) {
  yield* chunks(...parts);
  throw new Error('the source broke');
}

const PART: Omit<AppendOptions, 'from'> = {
  sizeHint: 1_000_000_000,
  durableEvery: Number.POSITIVE_INFINITY,
  onDurable: async () => {},
  beforeWrite: () => {},
};

const appended = (totalBytes: number) => ({ totalBytes, sourceError: undefined });

async function idsOf(listed: AsyncIterable<ListedBlob>): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of listed) ids.push(id);
  return ids.sort();
}

const idsIn = (store: BlobStore): Promise<string[]> => idsOf(store.list());

/** Removes the remains of writes that were last active before the instant; returns their number. */
export async function removeUnfinished(store: BlobStore, before: Date): Promise<number> {
  let count = 0;
  for await (const write of store.listUnfinished(before)) {
    await write.remove();
    count += 1;
  }
  return count;
}

/** Every backend's test file calls this with a way to make a fresh, empty store. */
export function describeBlobStore(backend: string, makeStore: () => Promise<BlobStore>): void {
  describe(`${backend} blob store`, () => {
    test('returns the written bytes and their number', async () => {
      const store = await makeStore();
      const id = randomUUID();
      expect(await store.write(id, chunks('hello ', 'world\n'), ROOMY)).toBe(12);
      const blob = await store.open(id);
      expect({ size: blob.sizeBytes, text: await text(blob.stream()) }).toEqual({
        size: 12,
        text: 'hello world\n',
      });
    });

    test('keeps an object without bytes', async () => {
      const store = await makeStore();
      const id = randomUUID();
      expect(await store.write(id, chunks(), ROOMY)).toBe(0);
      const blob = await store.open(id);
      expect(await text(blob.stream())).toBe('');
    });

    test('keeps large objects byte for byte', async () => {
      const store = await makeStore();
      const id = randomUUID();
      const parts = Array.from({ length: 100 }, () => randomBytes(99_991));
      const md5 = createHash('md5').update(Buffer.concat(parts)).digest('hex');
      expect(await store.write(id, chunks(...parts), ROOMY)).toBe(9_999_100);
      const read = createHash('md5');
      const blob = await store.open(id);
      for await (const chunk of blob.stream()) read.update(chunk);
      expect(read.digest('hex')).toBe(md5);
    });

    test('streams and slices parts, clipped to the end', async () => {
      const store = await makeStore();
      const id = randomUUID();
      await store.write(id, chunks('0123456789'), ROOMY);
      const first = await store.open(id);
      expect(await text(first.stream({ start: 2, end: 4 }))).toBe('234');
      const second = await store.open(id);
      const slices = [
        await second.slice({ start: 0, end: 3 }),
        await second.slice({ start: 8, end: 99 }),
        await second.slice({ start: 50, end: 60 }),
      ];
      await second.close();
      expect(slices.map(String)).toEqual(['0123', '89', '']);
    });

    test('leaves nothing of a source that breaks', async () => {
      const store = await makeStore();
      await expect(store.write(randomUUID(), failing('abc'), ROOMY)).rejects.toThrow('the source broke');
      expect(await idsIn(store)).toEqual([]);
      expect(await removeUnfinished(store, new Date(Date.now() + 60_000))).toBe(0);
    });

    test('lists objects, and removes them once or twice', async () => {
      const store = await makeStore();
      const ids = [randomUUID(), randomUUID(), randomUUID()].sort();
      for (const id of ids) await store.write(id, chunks(id), ROOMY);
      expect(await idsIn(store)).toEqual(ids);
      const [first = '', ...others] = ids;
      await store.remove(first);
      await store.remove(first);
      expect(await idsIn(store)).toEqual(others);
      await expect(store.open(first)).rejects.toThrow();
    });

    test('writes many objects at once', async () => {
      const store = await makeStore();
      const ids = Array.from({ length: 50 }, () => randomUUID());
      await Promise.all(ids.map((id) => store.write(id, chunks(id), ROOMY)));
      const texts = await Promise.all(ids.map(async (id) => text((await store.open(id)).stream())));
      expect(texts).toEqual(ids);
    });

    test('takes an object in parts, and gives it when it is complete', async () => {
      const store = await makeStore();
      const id = randomUUID();
      expect(await store.append(id, chunks('hello '), { ...PART, from: 0 })).toEqual(appended(6));
      await expect(store.open(id)).rejects.toThrow();
      expect(await store.append(id, chunks('wor', 'ld\n'), { ...PART, from: 6 })).toEqual(appended(12));
      await store.complete(id, 12);
      await store.complete(id, 12);
      expect(await text((await store.open(id)).stream())).toBe('hello world\n');
      expect(await idsOf(store.listIncomplete())).toEqual([]);
    });

    test('completes an object without bytes', async () => {
      const store = await makeStore();
      const id = randomUUID();
      await store.append(id, chunks(), { ...PART, from: 0 });
      await store.complete(id, 0);
      expect(await text((await store.open(id)).stream())).toBe('');
    });

    test.each([0, 5])('completes an object of %d bytes, without bytes written after them', async (size) => {
      const store = await makeStore();
      const id = randomUUID();
      if (size > 0) await store.append(id, chunks('hello'), { ...PART, from: 0 });
      const unheard = async () => {
        throw new Error('died');
      };
      const dying = store.append(id, chunks(' there', ', you'), {
        ...PART,
        from: size,
        durableEvery: 1,
        onDurable: unheard,
      });
      await expect(dying).rejects.toThrow('died');
      await store.complete(id, size);
      await store.complete(id, size);
      expect(await text((await store.open(id)).stream())).toBe('hello'.slice(0, size));
      expect(await idsOf(store.listIncomplete())).toEqual([]);
    });

    test('completes no object that has fewer bytes than it should', async () => {
      const store = await makeStore();
      const id = randomUUID();
      await store.append(id, chunks('abc'), { ...PART, from: 0 });
      await expect(store.complete(id, 4)).rejects.toThrow('3 bytes instead of 4');
      await expect(store.open(id)).rejects.toThrow();
    });

    test('drops bytes written after the declared size of an object', async () => {
      const store = await makeStore();
      const id = randomUUID();
      await store.append(id, chunks('hello there, you'), { ...PART, from: 0 });
      await store.append(id, chunks('!'), { ...PART, from: 5 });
      await store.complete(id, 6);
      expect(await text((await store.open(id)).stream())).toBe('hello!');
    });

    test('keeps the bytes received before a source failed, and returns the error', async () => {
      const store = await makeStore();
      const id = randomUUID();
      expect(await store.append(id, failing('ab', 'c'), { ...PART, from: 0 })).toEqual({
        totalBytes: 3,
        sourceError: new Error('the source broke'),
      });
      await store.append(id, chunks('d'), { ...PART, from: 3 });
      await store.complete(id, 4);
      expect(await text((await store.open(id)).stream())).toBe('abcd');
    });

    test('reports, while more bytes arrive, how many are durable', async () => {
      const store = await makeStore();
      const durable: number[] = [];
      const parts = Array.from({ length: 10 }, () => randomBytes(1_048_576));
      const outcome = await store.append(randomUUID(), chunks(...parts), {
        ...PART,
        from: 0,
        durableEvery: 4_194_304,
        onDurable: async (totalBytes) => void durable.push(totalBytes),
      });
      expect([outcome, durable]).toEqual([appended(10_485_760), [4_194_304, 8_388_608]]);
    });

    test('writes nothing more for a writer that may not', async () => {
      const store = await makeStore();
      const id = randomUUID();
      await store.append(id, chunks('abc'), { ...PART, from: 0 });
      const beforeWrite = () => {
        throw new Error('not yours');
      };
      await expect(store.append(id, chunks('xyz'), { ...PART, from: 3, beforeWrite })).rejects.toThrow(
        'not yours',
      );
      await store.complete(id, 3);
      expect(await text((await store.open(id)).stream())).toBe('abc');
    });

    test('adds nothing to an object that has fewer bytes than it should', async () => {
      const store = await makeStore();
      const id = randomUUID();
      await store.append(id, chunks('abc'), { ...PART, from: 0 });
      await expect(store.append(id, chunks('x'), { ...PART, from: 4 })).rejects.toThrow(
        '3 bytes instead of 4',
      );
      await expect(store.append(randomUUID(), chunks('x'), { ...PART, from: 1 })).rejects.toThrow();
      await expect(store.complete(randomUUID(), 1)).rejects.toThrow();
    });

    test('lists incomplete objects, and removes them once or twice', async () => {
      const store = await makeStore();
      const [first, second] = [randomUUID(), randomUUID()];
      for (const id of [first, second]) await store.append(id, chunks(id), { ...PART, from: 0 });
      await store.removeIncomplete(first);
      await store.removeIncomplete(first);
      expect(await idsOf(store.listIncomplete())).toEqual([second]);
      expect(await idsIn(store)).toEqual([]);
    });

    test.each(['../../etc/passwd', 'a', '', '..'])('has no object named %j', async (name) => {
      const store = await makeStore();
      await expect(store.write(name, chunks('x'), ROOMY)).rejects.toThrow('UUID');
      await expect((async () => store.open(name))()).rejects.toThrow('UUID');
      const appending = store.append(name, chunks('x'), { ...PART, from: 0 });
      await expect(appending).rejects.toThrow('UUID');
    });

    test('has an id once one is written, and lists it nowhere', async () => {
      const store = await makeStore();
      expect(await store.readStoreId()).toBeUndefined();
      for (const id of ['one', 'another']) {
        await store.writeStoreId(id);
        expect(await store.readStoreId()).toBe(id);
      }
      const listed = [
        store.list(),
        store.listIncomplete(),
        store.listUnfinished(new Date(Date.now() + 60_000)),
      ];
      expect(await Promise.all(listed.map(idsOf))).toEqual([[], [], []]);
    });

    test('is ready when it is fresh', async () => {
      const store = await makeStore();
      await expect(store.check()).resolves.toBeUndefined();
    });
  });
}
