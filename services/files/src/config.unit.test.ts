import { describe, expect, test } from '@jest/globals';
import { readConfig } from './config.ts';

const LEAST = {
  DATABASE_URL: 'postgresql://127.0.0.1/files',
  NATS_URL: 'nats://127.0.0.1:4222',
  CALLER_KEYS: `gateway=${'x'.repeat(32)}`,
  FILES_TICKET_KEY: 'x'.repeat(32),
  PACKAGES_ADDRESS: '127.0.0.1:1',
  PACKAGES_KEY: 'x'.repeat(32),
  RECORDS_ADDRESS: '127.0.0.1:1',
  RECORDS_KEY: 'x'.repeat(32),
};

describe('where the bytes of files are kept', () => {
  test('is a folder by default', () => {
    const { store } = readConfig({ ...LEAST, STORAGE_DIR: '/bytes' });
    expect(store).toEqual({ kind: 'filesystem', folder: '/bytes' });
  });

  test('is a bucket of Amazon, with the values of the environment', () => {
    const { store } = readConfig({ ...LEAST, FILES_STORE: 's3', S3_BUCKET: 'b', S3_REGION: 'eu-central-1' });
    expect(store).toEqual({
      kind: 's3',
      endpoint: undefined,
      region: 'eu-central-1',
      bucket: 'b',
      isPathStyle: false,
      credentials: undefined,
      idleMs: 60_000,
    });
  });

  test('is a bucket of another store, with credentials', () => {
    const { store } = readConfig({
      ...LEAST,
      FILES_STORE: 's3',
      S3_BUCKET: 'b',
      S3_ENDPOINT: 'http://127.0.0.1:9000',
      S3_ACCESS_KEY_ID: 'id',
      S3_SECRET_ACCESS_KEY: 'secret',
    });
    expect(store).toMatchObject({
      endpoint: new URL('http://127.0.0.1:9000'),
      isPathStyle: true,
      credentials: { accessKeyId: 'id', secretAccessKey: 'secret' },
    });
  });

  test.each([
    [{}, ['STORAGE_DIR is not set']],
    [{ FILES_STORE: 's3' }, ['S3_BUCKET is not set']],
    [{ FILES_STORE: 's3', S3_BUCKET: 'b', S3_ACCESS_KEY_ID: 'id' }, ['S3_SECRET_ACCESS_KEY is not set']],
    [{ FILES_STORE: 's3', S3_BUCKET: 'b', S3_ENDPOINT: 'minio' }, ['S3_ENDPOINT is not a URL']],
    [{ FILES_STORE: 'tape', STORAGE_DIR: '/bytes' }, ['FILES_STORE is none of filesystem, s3']],
  ])('with %j is refused', (env, problems) => {
    expect(() => readConfig({ ...LEAST, ...env })).toThrow(expect.objectContaining({ problems }));
  });
});

describe('how stored bytes are read again', () => {
  const inFolder = { ...LEAST, STORAGE_DIR: '/bytes' };

  test('is every thirty days by default', () => {
    expect(readConfig(inFolder).fixity).toEqual({ everyMs: 30 * 86_400_000, bytesPerSecond: 20_000_000 });
    const set = { ...inFolder, FIXITY_CHECK_INTERVAL_MS: '0', FIXITY_CHECK_BYTES_PER_SECOND: '65536' };
    expect(readConfig(set).fixity).toEqual({ everyMs: 0, bytesPerSecond: 65_536 });
  });

  test('is never at a crawl', () => {
    expect(() => readConfig({ ...inFolder, FIXITY_CHECK_BYTES_PER_SECOND: '65535' })).toThrow(
      'FIXITY_CHECK_BYTES_PER_SECOND is not a whole number from 65536 to 10000000000',
    );
  });
});
