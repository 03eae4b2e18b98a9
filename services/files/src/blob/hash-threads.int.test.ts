import { createHash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { createLogger } from '@kr/telemetry';
import { endThreadsOf } from '../testing/ended-threads.ts';
import { contentHashes } from './content-hash.ts';

const logged: string[] = [];
const logger = createLogger('files', { write: (line) => void logged.push(line) });
logger.level = 'error';
const newHash = contentHashes(logger);
const BYTES = randomBytes(1_000_000);

function digestsOf(bytes: Uint8Array) {
  const digest = (algorithm: string) => createHash(algorithm).update(bytes).digest('hex');
  return { md5: digest('md5'), sha256: digest('sha256'), crc32: crc32(bytes) };
}

// Few bytes are hashed here, more in a thread.
test.each([1_000, 1_000_000, undefined])(
  'of %p expected bytes the digests are those of all received bytes',
  async (expected) => {
    const hash = newHash(expected);
    // They do not wait for each other: the order of the calls counts.
    await Promise.all([0, 300_000, 600_000].map((at) => hash.update(BYTES.subarray(at, at + 300_000))));
    const other = hash.copy();
    await hash.update(BYTES.subarray(900_000));
    expect(await hash.digests()).toEqual(digestsOf(BYTES));
    expect(await other.digests()).toEqual(digestsOf(BYTES.subarray(0, 900_000)));
    hash.drop();
    await other.update(BYTES.subarray(900_000));
    expect(await other.digests()).toEqual(digestsOf(BYTES));
    other.drop();
  },
);

test('many at once do not mix', async () => {
  const sizes = Array.from({ length: 40 }, (_, index) => index * 20_000);
  const allDigests = await Promise.all(
    sizes.map(async (size) => {
      const hash = newHash();
      for (let at = 0; at < size; at += 50_000)
        await hash.update(BYTES.subarray(at, Math.min(size, at + 50_000)));
      const digests = await hash.digests();
      hash.drop();
      return digests;
    }),
  );
  expect(allDigests).toEqual(sizes.map((size) => digestsOf(BYTES.subarray(0, size))));
});

test('threads that end by a defect fail their hashes as retryable, are logged, and the next hash starts others', async () => {
  const lost = newHash();
  await lost.update(BYTES);
  await endThreadsOf(lost);
  await expect(lost.digests()).rejects.toMatchObject({ kind: 'unavailable', retryAfterMs: 1_000 });
  await expect(lost.copy().update(BYTES)).rejects.toMatchObject({ kind: 'unavailable' });
  // Two threads share the work.
  expect(logged).toEqual(Array(2).fill(expect.stringContaining('a hashing thread has ended')));
  const next = newHash();
  await next.update(BYTES);
  expect(await next.digests()).toEqual(digestsOf(BYTES));
  next.drop();
});
