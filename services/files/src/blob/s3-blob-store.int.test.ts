import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { buffer, text } from 'node:stream/consumers';
import { afterAll, describe, expect, test } from '@jest/globals';
import { FaultProxy, openS3, type TestS3, until } from '@kr/testbed';
import { STORE_DEPS } from '../testing/files-under-test.ts';
import { describeBlobStore, removeUnfinished } from './blob-store.contract.ts';
import type { AppendOptions, BlobStore } from './blob-store.ts';
import { s3BlobStore } from './s3-blob-store.ts';
import { openS3Bucket, type S3Bucket } from './s3-bucket.ts';

const MIB = 1_048_576;
const ROOMY = { sizeHint: 1_000_000_000 };
const PART: Omit<AppendOptions, 'from'> = {
  sizeHint: 1_000_000_000,
  durableEvery: Number.POSITIVE_INFINITY,
  onDurable: async () => {},
  beforeWrite: () => {},
};
const LATER = new Date(Date.now() + 3_600_000);

async function* chunks(...parts: (string | Uint8Array)[]) {
  for (const part of parts) yield Buffer.from(part);
}

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const list: Item[] = [];
  for await (const item of items) list.push(item);
  return list;
}

const md5 = (bytes: Buffer) => createHash('md5').update(bytes).digest('hex');

const s3 = await openS3();
if ('missing' in s3) test.skip(`S3 blob store (${s3.missing})`, () => {});
else describeOn(s3);

function describeOn({ access, freshBucket, stop }: TestS3): void {
  const { endpoint, region, accessKeyId, secretAccessKey } = access;
  const buckets: { drop(): Promise<void> }[] = [];
  const settings = async () => {
    const fresh = await freshBucket();
    buckets.push(fresh);
    return {
      endpoint,
      region,
      bucket: fresh.name,
      credentials: { accessKeyId, secretAccessKey },
      isPathStyle: true,
      idleMs: 60_000,
    };
  };
  const openBucket = async () => openS3Bucket(await settings());
  const storeOn = (bucket: S3Bucket) => s3BlobStore({ ...STORE_DEPS, bucket });
  const contentOf = async (store: BlobStore, id: string) => buffer((await store.open(id)).stream());
  const leftIn = async (bucket: S3Bucket) => ({
    objects: (await all(bucket.list(''))).map(({ key }) => key),
    uploads: (await all(bucket.listUploads())).map(({ key }) => key),
  });
  const NOTHING = { objects: [], uploads: [] };

  afterAll(async () => {
    await Promise.all(buckets.map((bucket) => bucket.drop()));
    await stop();
  });

  describeBlobStore('S3', async () => storeOn(await openBucket()));

  describe('S3 blob store', () => {
    test.each([8 * MIB - 1, 8 * MIB, 16 * MIB, 43 * MIB + 1])(
      'keeps an object of %d bytes, in parts where it is large',
      async (size) => {
        const bucket = await openBucket();
        const store = storeOn(bucket);
        const id = randomUUID();
        const bytes = randomBytes(size);
        const pieces = async function* () {
          for (let at = 0; at < size; at += 1_234_567) yield bytes.subarray(at, at + 1_234_567);
        };
        expect(await store.write(id, pieces(), { sizeHint: size })).toBe(size);
        expect(md5(await contentOf(store, id))).toBe(md5(bytes));
        const blob = await store.open(id);
        const range = { start: size - 8 * MIB + 3, end: size - 2 };
        expect(md5(await buffer(blob.stream(range)))).toBe(md5(bytes.subarray(range.start, range.end + 1)));
        expect(await leftIn(bucket)).toEqual({ objects: [`objects/${id}`], uploads: [] });
      },
    );

    test('writes over no object', async () => {
      const store = storeOn(await openBucket());
      const id = randomUUID();
      await store.write(id, chunks('first'), ROOMY);
      await expect(store.write(id, chunks('other'), ROOMY)).rejects.toThrow('there is another one');
      await expect(store.write(id, chunks(randomBytes(9 * MIB)), ROOMY)).rejects.toThrow(
        'there is another one',
      );
      expect(String(await contentOf(store, id))).toBe('first');
    });

    test.each([
      ['small', 'PUT', 5],
      ['large', 'POST', 9 * MIB],
    ])('knows a %s object again whose acknowledgement was lost', async (_name, method, size) => {
      const proxy = await FaultProxy.start(endpoint.host);
      try {
        const options = await settings();
        const direct = openS3Bucket(options);
        const store = storeOn(openS3Bucket({ ...options, endpoint: new URL(`http://${proxy.address}`) }));
        const id = randomUUID();
        const isLast = (sent: Buffer | string) =>
          String(sent).includes(`${method} /${options.bucket}/objects/${id}`) &&
          !String(sent).includes('uploads');
        proxy.cutNext({ direction: 'to client', afterBytes: 0, when: isLast });
        const bytes = randomBytes(size);
        expect(await store.write(id, chunks(bytes), ROOMY)).toBe(size);
        expect(md5(await contentOf(store, id))).toBe(md5(bytes));
        expect(proxy.cuts).toBe(1);
        expect(await leftIn(direct)).toEqual({ objects: [`objects/${id}`], uploads: [] });
      } finally {
        await proxy.stop();
      }
    });

    test('ends a download that the store has cut off as a failure', async () => {
      const proxy = await FaultProxy.start(endpoint.host);
      try {
        const options = await settings();
        const store = storeOn(openS3Bucket({ ...options, endpoint: new URL(`http://${proxy.address}`) }));
        const id = randomUUID();
        await store.write(id, chunks(randomBytes(4 * MIB)), ROOMY);
        const blob = await store.open(id);
        proxy.cutNext({ direction: 'to client', afterBytes: MIB });
        await expect(buffer(blob.stream())).rejects.toThrow();
      } finally {
        await proxy.stop();
      }
    });

    test.each(['small', 'large'])('leaves nothing of a %s object when any request fails', async (size) => {
      const bytes = randomBytes(size === 'small' ? 10 : 17 * MIB);
      const bucket = await openBucket();
      for (let failing = 1; ; failing += 1) {
        const counted = failingAt(bucket, failing);
        const id = randomUUID();
        const [outcome] = await Promise.allSettled([storeOn(counted.bucket).write(id, chunks(bytes), ROOMY)]);
        if (counted.calls() < failing) {
          expect(outcome).toMatchObject({ status: 'fulfilled' });
          break;
        }
        expect(outcome).toMatchObject({ status: 'rejected', reason: { message: `call ${failing}` } });
        expect([failing, await leftIn(bucket)]).toEqual([failing, NOTHING]);
      }
    });

    test('is not ready without its bucket, and reports an unavailable store as such', async () => {
      const options = await settings();
      await expect(openS3Bucket({ ...options, bucket: 'no-such-bucket' }).check()).rejects.toThrow();
      const away = storeOn(openS3Bucket({ ...options, endpoint: new URL('http://127.0.0.1:9') }));
      await expect(away.check()).rejects.toThrow('ECONNREFUSED');
    });

    test('times out on a silent store', async () => {
      const proxy = await FaultProxy.start(endpoint.host);
      try {
        const options = await settings();
        const silent = openS3Bucket({
          ...options,
          endpoint: new URL(`http://${proxy.address}`),
          idleMs: 100,
        });
        proxy.inflict({ kind: 'black hole' });
        await expect(storeOn(silent).open(randomUUID())).rejects.toMatchObject({ kind: 'unavailable' });
      } finally {
        await proxy.stop();
      }
    });

    test('a reader that stops does not wait for a silent store', async () => {
      const proxy = await FaultProxy.start(endpoint.host);
      try {
        const options = await settings();
        const id = randomUUID();
        await storeOn(openS3Bucket(options)).write(id, chunks('abc'), ROOMY);
        const silent = openS3Bucket({
          ...options,
          endpoint: new URL(`http://${proxy.address}`),
          idleMs: 600_000,
        });
        let isAsked = false;
        const read: S3Bucket['read'] = (...request) => {
          isAsked = true;
          return silent.read(...request);
        };
        const blob = await storeOn({ ...silent, read }).open(id);
        proxy.inflict({ kind: 'black hole' });
        const stream = blob.stream().resume();
        await until(() => isAsked);
        stream.destroy();
        await until(() => stream.closed);
      } finally {
        await proxy.stop();
      }
    });

    test('removes uploads that were left, when they are old, and none that goes on', async () => {
      const bucket = await openBucket();
      const store = storeOn(bucket);
      const [left, going] = [randomUUID(), randomUUID()];
      const abandoned = await bucket.startUpload(`objects/${left}`, {});
      await bucket.sendPart(abandoned, 1, randomBytes(10));
      await store.append(going, chunks(randomBytes(9 * MIB)), { ...PART, from: 0 });
      expect(await removeUnfinished(store, new Date(Date.now() - 3_600_000))).toBe(0);
      expect(await removeUnfinished(store, LATER)).toBe(1);
      expect((await leftIn(bucket)).uploads).toEqual([`objects/${going}`]);
      await store.complete(going, 9 * MIB);
      expect((await contentOf(store, going)).length).toBe(9 * MIB);
    });
  });

  describe('an object that is appended in several calls to S3', () => {
    /** Bytes that differ at every position. */
    const bytes = randomBytes(40 * MIB);

    test('may end anywhere in a part, in each of them, and each append may be another process', async () => {
      const bucket = await openBucket();
      const id = randomUUID();
      const ends = [3, 5 * MIB, 5 * MIB, 8 * MIB, 8 * MIB + 1, 33 * MIB, 40 * MIB];
      let from = 0;
      for (const end of ends) {
        const outcome = await storeOn(bucket).append(id, chunks(bytes.subarray(from, end)), {
          ...PART,
          durableEvery: 6 * MIB,
          from,
        });
        expect(outcome.totalBytes).toBe(end);
        from = end;
      }
      await storeOn(bucket).complete(id, 40 * MIB);
      expect(md5(await contentOf(storeOn(bucket), id))).toBe(md5(bytes));
      expect(await leftIn(bucket)).toEqual({ objects: [`objects/${id}`], uploads: [] });
    });

    test.each([0, 3, 20 * MIB - 1])(
      'continues at byte %d, the last one that its process reported before it died',
      async (durableBytes) => {
        const bucket = await openBucket();
        const store = storeOn(bucket);
        const id = randomUUID();
        if (durableBytes > 0)
          await store.append(id, chunks(bytes.subarray(0, durableBytes)), { ...PART, from: 0 });
        // More was made durable than reported, and with other bytes.
        const unheard = chunks(...Array.from({ length: 19 }, () => randomBytes(MIB)));
        const dying = store.append(id, unheard, {
          ...PART,
          from: durableBytes,
          durableEvery: 17 * MIB,
          onDurable: async () => {
            throw new Error('died');
          },
        });
        await expect(dying).rejects.toThrow('died');
        await storeOn(bucket).append(id, chunks(bytes.subarray(durableBytes)), {
          ...PART,
          from: durableBytes,
        });
        await storeOn(bucket).complete(id, 40 * MIB);
        expect(md5(await contentOf(store, id))).toBe(md5(bytes));
      },
    );

    test('is completed again after a crash at any request', async () => {
      const bucket = await openBucket();
      for (const size of [5, 9 * MIB]) {
        for (let failing = 1; ; failing += 1) {
          const id = randomUUID();
          await storeOn(bucket).append(id, chunks(bytes.subarray(0, size)), { ...PART, from: 0 });
          const counted = failingAt(bucket, failing);
          const [outcome] = await Promise.allSettled([storeOn(counted.bucket).complete(id, size)]);
          await storeOn(bucket).complete(id, size);
          expect(md5(await contentOf(storeOn(bucket), id))).toBe(md5(bytes.subarray(0, size)));
          expect(await leftIn(bucket)).toEqual({ objects: [`objects/${id}`], uploads: [] });
          await storeOn(bucket).remove(id);
          if (outcome.status === 'fulfilled') break;
        }
      }
    });

    test('is not completed with a part that a late writer has exchanged', async () => {
      const bucket = await openBucket();
      const store = storeOn(bucket);
      const id = randomUUID();
      await store.append(id, chunks(bytes.subarray(0, 17 * MIB)), { ...PART, from: 0 });
      const [upload] = await all(bucket.listUploads());
      if (upload === undefined) throw new Error('no upload');
      await bucket.sendPart(upload, 1, randomBytes(8 * MIB));
      await expect(store.complete(id, 17 * MIB)).rejects.toThrow('differ from the acknowledged ones');
      await expect(store.open(id)).rejects.toThrow();
    });

    test('leaves nothing when it is removed', async () => {
      const bucket = await openBucket();
      const store = storeOn(bucket);
      const id = randomUUID();
      await store.append(id, chunks(bytes.subarray(0, 17 * MIB)), { ...PART, from: 0 });
      await store.removeIncomplete(id);
      expect(await leftIn(bucket)).toEqual(NOTHING);
      await expect(store.complete(id, 17 * MIB)).rejects.toThrow('there is no object');
    });

    test('is never more than five parts ahead of the store, and sends four at a time', async () => {
      const bucket = await openBucket();
      const [inFlight, ahead] = [
        { now: 0, most: 0 },
        { now: 0, most: 0 },
      ];
      const count = (what: typeof ahead, change: number) => {
        what.now += change;
        what.most = Math.max(what.most, what.now);
      };
      const sendPart: S3Bucket['sendPart'] = async (upload, number, body) => {
        count(inFlight, 1);
        // The store is the slower one, however fast it is.
        await until(() => inFlight.most === 4);
        const sent = await bucket.sendPart(upload, number, body);
        count(inFlight, -1);
        count(ahead, -body.length);
        return sent;
      };
      const pieces = async function* () {
        for (let piece = 0; piece < 96; piece += 1) {
          count(ahead, MIB);
          yield bytes.subarray(0, MIB);
        }
      };
      await storeOn({ ...bucket, sendPart }).write(randomUUID(), pieces(), ROOMY);
      expect(inFlight).toEqual({ now: 0, most: 4 });
      expect(ahead.now).toBe(0);
      expect(ahead.most).toBeLessThanOrEqual(5 * 8 * MIB);
    });

    test('is a stream that requests nothing before it is read', async () => {
      const store = storeOn(await openBucket());
      const id = randomUUID();
      await store.write(id, chunks('abc'), ROOMY);
      const unread = (await store.open(id)).stream();
      unread.destroy();
      await until(() => unread.closed);
      expect(await text((await store.open(id)).stream())).toBe('abc');
    });
  });
}

/** The bucket, whose n-th request is not made but fails. */
function failingAt(bucket: S3Bucket, nth: number): { bucket: S3Bucket; calls(): number } {
  let calls = 0;
  const failing = new Proxy(bucket, {
    get: (target, name, receiver) => {
      const member: unknown = Reflect.get(target, name, receiver);
      if (typeof member !== 'function') return member;
      return (...values: unknown[]) => {
        calls += 1;
        if (calls === nth) return failedCall(nth);
        return Reflect.apply(member, target, values);
      };
    },
  });
  return { bucket: failing, calls: () => calls };
}

function failedCall(nth: number): Promise<never> & AsyncIterable<never> {
  const failure = Promise.reject(new Error(`call ${nth}`));
  // When a list fails, no caller waits for the promise.
  failure.catch(() => {});
  return Object.assign(failure, {
    [Symbol.asyncIterator]: () => ({ next: () => failure }),
  });
}
