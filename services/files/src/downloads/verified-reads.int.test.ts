import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import { type FilesUnderTest, startFilesUnderTest } from '../testing/files-under-test.ts';

let files: FilesUnderTest;
beforeAll(async () => {
  files = await startFilesUnderTest({}, undefined, { verifyReadsPercent: 100 });
});
afterAll(() => files.stop());

const ENTITY = 'verified-01';

async function objectIdOf(key: string): Promise<string> {
  const { fileId } = (await files.list(ENTITY)).find((entry) => entry.key === key) ?? {};
  if (fileId === undefined) throw new Error(`there is no ${key}`);
  return fileId;
}

async function damageOf(id: string): Promise<string | null> {
  const { rows } = await files.sql.query('select damage from object where id = $1', [id]);
  return rows[0].damage;
}

describe('a whole file that is compared with the stored checksum', () => {
  const LARGE = randomBytes(3_000_000);

  test.each([
    ['of many chunks', 'large.bin', LARGE],
    ['of a few bytes', 'small.txt', Buffer.from('abc')],
    ['of none', 'empty.txt', Buffer.alloc(0)],
  ])('is sent as it was stored: one %s', async (_, key, bytes) => {
    await files.upload(ENTITY, key, bytes);
    const whole = await files.get(ENTITY, key);
    expect([whole.status, whole.body.equals(bytes)]).toEqual([200, true]);
  });

  test.each([
    ['in the middle of many chunks', 'bad.bin', LARGE, 1_234_567],
    ['at the end', 'bad-end.bin', LARGE, LARGE.length - 1],
    ['in a few bytes', 'bad.txt', Buffer.from('abc'), 1],
  ])('never ends as a success with another byte %s', async (_, key, bytes, at) => {
    await files.upload(ENTITY, key, bytes);
    const id = await objectIdOf(key);
    await files.flipByte(id, at);
    await expect(files.get(ENTITY, key)).rejects.toThrow(/aborted|socket hang up/);
    await until(async () => (await damageOf(id)) === 'corrupt');
    const part = await files.get(ENTITY, key, { range: `bytes=0-${at - 1}` });
    expect([part.status, part.body.equals(bytes.subarray(0, at))]).toEqual([206, true]);
  });
});
