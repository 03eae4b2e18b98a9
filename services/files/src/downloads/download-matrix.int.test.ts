import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  type Answer,
  type FilesUnderTest,
  PACKAGES,
  startFilesUnderTest,
} from '../testing/files-under-test.ts';

/** The requests in terms of the file's validators, which are known only at run time. */
const STANDS_FOR: Record<string, (file: Validators) => string> = {
  ETAG: ({ etag }) => etag,
  NOW: ({ modifiedAt }) => new Date(modifiedAt).toUTCString(),
  EARLIER: ({ modifiedAt }) => new Date(modifiedAt - 1_000).toUTCString(),
  LATER: ({ modifiedAt }) => new Date(modifiedAt + 1_000).toUTCString(),
  ISO: ({ modifiedAt }) => new Date(modifiedAt).toISOString(),
};

interface Validators {
  etag: string;
  modifiedAt: number;
}

const ALL = '200 hello world\n';
const PART = '206 0-4/12 hello';
const OUTSIDE = '416 */12';
const UNCHANGED = '304';
const FAILED = '412';

/** Method, headers, and what RFC 9110 lets a server answer of the twelve bytes `hello world\n`. */
const OF_TWELVE_BYTES: [method: string, headers: Record<string, string>, summary: string][] = [
  ['GET', {}, ALL],
  ['HEAD', {}, '200'],

  // 14.1.2: one range
  ['GET', { range: 'bytes=0-4' }, PART],
  ['GET', { range: 'bytes=0-0' }, '206 0-0/12 h'],
  ['GET', { range: 'bytes=11-11' }, '206 11-11/12 \n'],
  ['GET', { range: 'bytes=6-' }, '206 6-11/12 world\n'],
  ['GET', { range: 'bytes=0-' }, '206 0-11/12 hello world\n'],
  ['GET', { range: 'bytes=-6' }, '206 6-11/12 world\n'],
  ['GET', { range: 'bytes=-1' }, '206 11-11/12 \n'],
  ['GET', { range: 'bytes=-12' }, '206 0-11/12 hello world\n'],
  ['GET', { range: 'bytes=-99' }, '206 0-11/12 hello world\n'],
  ['GET', { range: 'bytes=0-99' }, '206 0-11/12 hello world\n'],
  ['GET', { range: 'bytes=4-18446744073709551616' }, '206 4-11/12 o world\n'],
  ['GET', { range: 'BYTES=0-4' }, PART],
  ['GET', { range: 'bytes= 0-4' }, PART],
  ['GET', { range: 'bytes=00-04' }, PART],

  // 15.5.17: none that could be satisfied
  ['GET', { range: 'bytes=12-' }, OUTSIDE],
  ['GET', { range: 'bytes=12-13' }, OUTSIDE],
  ['GET', { range: 'bytes=-0' }, OUTSIDE],
  ['GET', { range: 'bytes=18446744073709551616-' }, OUTSIDE],

  // 14.2: not understood, and so ignored
  ['GET', { range: 'bytes=4-0' }, ALL],
  ['GET', { range: 'bytes=' }, ALL],
  ['GET', { range: 'bytes=-' }, ALL],
  ['GET', { range: 'bytes=a-b' }, ALL],
  ['GET', { range: 'bytes=0' }, ALL],
  ['GET', { range: 'bytes=0-4-5' }, ALL],
  ['GET', { range: 'bytes=0 - 4' }, ALL],
  ['GET', { range: 'bytes=-1-4' }, ALL],
  ['GET', { range: 'bytes=0-4;5-6' }, ALL],
  ['GET', { range: 'bytes=0-4,4-0' }, ALL],
  ['GET', { range: 'bytes:0-4' }, ALL],
  ['GET', { range: 'bytes 0-4/12' }, ALL],
  ['GET', { range: 'bytes =0-4' }, ALL],
  ['GET', { range: '0-4' }, ALL],
  ['GET', { range: 'items=0-4' }, ALL],
  ['GET', { range: 'none' }, ALL],

  // 14.2: a list of ranges is ignored
  ['GET', { range: 'bytes=0-1,4-5' }, ALL],
  ['GET', { range: 'bytes=0-4,99-' }, ALL],
  ['GET', { range: 'bytes=,0-4,' }, ALL],
  ['GET', { range: 'bytes=12-,13-14,-0' }, ALL],
  ['GET', { range: `bytes=${Array.from({ length: 100 }, () => '0-').join(',')}` }, ALL],

  // 13.1.5: a range only of the same representation, by a strong comparison
  ['GET', { range: 'bytes=0-4', 'if-range': 'ETAG' }, PART],
  ['GET', { range: 'bytes=0-1,4-5', 'if-range': 'ETAG' }, ALL],
  ['GET', { range: 'bytes=12-', 'if-range': 'ETAG' }, OUTSIDE],
  ['GET', { range: 'bytes=0-4', 'if-range': 'W/ETAG' }, ALL],
  ['GET', { range: 'bytes=0-4', 'if-range': '"md5:other"' }, ALL],
  ['GET', { range: 'bytes=12-', 'if-range': '"md5:other"' }, ALL],
  ['GET', { range: 'bytes=0-1,4-5', 'if-range': '"md5:other"' }, ALL],
  ['GET', { range: 'bytes=0-4', 'if-range': '*' }, ALL],
  ['GET', { range: 'bytes=0-4', 'if-range': 'ETAG, "other"' }, ALL],
  ['GET', { range: 'bytes=0-4', 'if-range': 'NOW' }, PART],
  ['GET', { range: 'bytes=0-4', 'if-range': 'LATER' }, ALL],
  ['GET', { range: 'bytes=0-4', 'if-range': 'EARLIER' }, ALL],
  ['GET', { range: 'bytes=0-4', 'if-range': 'ISO' }, ALL],
  ['GET', { range: 'bytes=0-4', 'if-range': '' }, ALL],
  ['GET', { 'if-range': '"md5:other"' }, ALL],
  ['GET', { 'if-range': 'ETAG' }, ALL],

  // 13.1.1 and 13.1.4: failed preconditions are reported first
  ['GET', { 'if-match': 'ETAG' }, ALL],
  ['GET', { 'if-match': '"a", ETAG' }, ALL],
  ['GET', { 'if-match': '*' }, ALL],
  ['GET', { 'if-match': '"md5:other"' }, FAILED],
  ['GET', { 'if-match': 'W/ETAG' }, FAILED],
  ['GET', { 'if-match': '"md5:other"', range: 'bytes=0-4' }, FAILED],
  ['GET', { 'if-match': '"md5:other"', range: 'bytes=12-' }, FAILED],
  ['GET', { 'if-match': '"md5:other"', 'if-none-match': 'ETAG' }, FAILED],
  ['GET', { 'if-match': '"md5:other"', 'if-unmodified-since': 'NOW' }, FAILED],
  ['GET', { 'if-match': 'ETAG', 'if-unmodified-since': 'EARLIER' }, ALL],
  ['GET', { 'if-match': 'ETAG', range: 'bytes=0-4' }, PART],
  ['GET', { 'if-match': 'ETAG', 'if-none-match': 'ETAG' }, UNCHANGED],
  ['GET', { 'if-unmodified-since': 'NOW' }, ALL],
  ['GET', { 'if-unmodified-since': 'LATER' }, ALL],
  ['GET', { 'if-unmodified-since': 'EARLIER' }, FAILED],
  ['GET', { 'if-unmodified-since': 'EARLIER', range: 'bytes=0-4' }, FAILED],
  ['GET', { 'if-unmodified-since': 'EARLIER', 'if-none-match': 'ETAG' }, FAILED],
  ['GET', { 'if-unmodified-since': '2000-01-01' }, ALL],
  ['GET', { 'if-unmodified-since': 'Sun, 06 Nov 1994 08:49:37 +0000' }, ALL],
  ['GET', { 'if-unmodified-since': 'Sunday, 06-Nov-94 08:49:37 GMT' }, FAILED],
  ['GET', { 'if-unmodified-since': 'Sun Nov  6 08:49:37 1994' }, FAILED],

  // 13.1.2 and 13.1.3: what the client has already
  ['GET', { 'if-none-match': 'ETAG' }, UNCHANGED],
  ['GET', { 'if-none-match': 'W/ETAG' }, UNCHANGED],
  ['GET', { 'if-none-match': '"a", ETAG, "b"' }, UNCHANGED],
  ['GET', { 'if-none-match': '*' }, UNCHANGED],
  ['GET', { 'if-none-match': '"md5:other"' }, ALL],
  ['GET', { 'if-none-match': 'ETAG', range: 'bytes=0-4' }, UNCHANGED],
  ['GET', { 'if-none-match': 'ETAG', range: 'bytes=12-' }, UNCHANGED],
  ['GET', { 'if-none-match': '"md5:other"', range: 'bytes=0-4' }, PART],
  ['GET', { 'if-none-match': '"md5:other"', 'if-modified-since': 'LATER' }, ALL],
  ['GET', { 'if-none-match': 'ETAG', 'if-modified-since': 'EARLIER' }, UNCHANGED],
  ['GET', { 'if-none-match': 'ETAG', 'cache-control': 'no-cache' }, UNCHANGED],
  ['GET', { 'if-modified-since': 'NOW' }, UNCHANGED],
  ['GET', { 'if-modified-since': 'LATER' }, UNCHANGED],
  ['GET', { 'if-modified-since': 'EARLIER' }, ALL],
  ['GET', { 'if-modified-since': 'EARLIER', range: 'bytes=0-4' }, PART],
  ['GET', { 'if-modified-since': 'NOW', range: 'bytes=0-4' }, UNCHANGED],
  ['GET', { 'if-modified-since': '2999-01-01' }, ALL],
  ['GET', { 'if-modified-since': 'yesterday' }, ALL],
  ['GET', { 'if-modified-since': 'Friday, 01-Jan-49 00:00:00 GMT' }, UNCHANGED],
  ['GET', { 'if-modified-since': 'Fri Jan  1 00:00:00 2049' }, UNCHANGED],

  // 14.2: a range is defined for GET only
  ['HEAD', { range: 'bytes=0-4' }, '200'],
  ['HEAD', { range: 'bytes=12-' }, '200'],
  ['HEAD', { range: 'bytes=0-1,4-5' }, '200'],
  ['HEAD', { range: 'bytes=0-4', 'if-range': 'ETAG' }, '200'],
  ['HEAD', { range: 'bytes=0-4', 'if-range': '"md5:other"' }, '200'],
  ['HEAD', { 'if-none-match': 'ETAG' }, UNCHANGED],
  ['HEAD', { 'if-none-match': '"md5:other"' }, '200'],
  ['HEAD', { 'if-match': 'ETAG' }, '200'],
  ['HEAD', { 'if-match': '"md5:other"' }, FAILED],
  ['HEAD', { 'if-modified-since': 'NOW' }, UNCHANGED],
  ['HEAD', { 'if-unmodified-since': 'EARLIER' }, FAILED],
];

const OF_NO_BYTES: typeof OF_TWELVE_BYTES = [
  ['GET', {}, '200 '],
  ['HEAD', {}, '200'],
  ['GET', { range: 'bytes=0-' }, '416 */0'],
  ['GET', { range: 'bytes=0-0' }, '416 */0'],
  ['GET', { range: 'bytes=-0' }, '416 */0'],
  ['GET', { range: 'bytes=-1' }, '200 '],
  ['GET', { range: 'bytes=0-,-5' }, '200 '],
  ['GET', { range: 'bytes=1-0' }, '200 '],
  ['GET', { range: 'bytes=0-', 'if-range': 'ETAG' }, '416 */0'],
  ['GET', { range: 'bytes=0-', 'if-range': '"md5:other"' }, '200 '],
  ['GET', { 'if-none-match': 'ETAG' }, UNCHANGED],
  ['GET', { 'if-match': '"md5:other"' }, FAILED],
  ['HEAD', { range: 'bytes=0-' }, '200'],
];

/** Of all bytes, by their number. */
const DIGEST: Record<number, string> = {
  0: 'sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:',
  12: 'sha-256=:qUiQTy8PR5uPgZdpSzAYSw0u0cHNKh7A+4XSmaGSpEc=:',
};

let files: FilesUnderTest;
const validators = new Map<string, Validators>();

beforeAll(async () => {
  files = await startFilesUnderTest();
  for (const entityId of ['draft', 'published']) {
    for (const [key, bytes] of [
      ['greeting.txt', 'hello world\n'],
      ['empty.txt', ''],
    ] as const) {
      await files.upload(entityId, key, bytes);
      const { headers } = await ask('HEAD', entityId, key, {});
      const modifiedAt = Date.parse(String(headers['last-modified']));
      validators.set(`${entityId} ${key}`, { etag: String(headers.etag), modifiedAt });
    }
  }
  await files.client.sealBuckets({ publicationId: 'p', epoch: 1, entityIds: ['published'] }, PACKAGES);
  await files.client.applyDecisionToBuckets(
    { publicationId: 'p', isCommitted: true, publishedIds: ['published'] },
    PACKAGES,
  );
});
afterAll(() => files.stop());

function ask(method: string, entityId: string, key: string, headers: Record<string, string>) {
  const ticket = files.ticket(entityId, ['read_files']);
  return files.get(entityId, key, { 'kr-ticket': ticket, ...headers }, method);
}

function requestHeaders(headers: Record<string, string>, file: Validators): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]) => {
    const stood = Object.entries(STANDS_FOR).reduce(
      (text, [word, of]) => text.replace(word, of(file)),
      value,
    );
    return [name, stood];
  });
  return Object.fromEntries(entries);
}

/** An answer in one line: its status, and its declared range. */
function summary(method: string, { status, headers, body }: Answer): string {
  if (method === 'HEAD' || status === 304 || status === 412) return String(status);
  if (status === 416) return `416 ${headers['content-range']?.replace('bytes ', '')}`;
  if (status !== 206) return `${status} ${body}`;
  return `206 ${headers['content-range']?.replace('bytes ', '')} ${body}`;
}

/** The properties of every answer, for any request. */
function checkHeaders(method: string, { status, headers, body }: Answer, file: Validators, size: number) {
  const isBytes = status === 200 || status === 206;
  const length = method === 'HEAD' && status === 200 ? size : body.length;
  if (status !== 304 && !(method === 'HEAD' && status === 412))
    expect(headers['content-length']).toBe(String(length));
  if (isBytes || status === 304) {
    expect([headers.etag, headers['last-modified']]).toEqual([
      file.etag,
      new Date(file.modifiedAt).toUTCString(),
    ]);
    expect([headers['x-content-type-options'], headers['content-security-policy']]).toEqual([
      'nosniff',
      "default-src 'none'; sandbox",
    ]);
  }
  expect(headers['accept-ranges']).toBe(isBytes || status === 416 ? 'bytes' : undefined);
  expect(headers['repr-digest']).toBe(isBytes ? DIGEST[size] : undefined);
  expect(headers['content-md5']).toBe(status === 200 ? file.etag.slice(5, -1) : undefined);
  if (status !== 206 && status !== 416) expect(headers['content-range']).toBeUndefined();
  if (status === 304) expect([body.length, headers['content-type']]).toEqual([0, undefined]);
}

describe.each(['draft', 'published'])('a file that is a %s', (entityId) => {
  describe.each([
    ['greeting.txt', 12, OF_TWELVE_BYTES],
    ['empty.txt', 0, OF_NO_BYTES],
  ] as const)('called %s, of %d bytes', (key, size, cases) => {
    test.each(cases)('answers %s with %j by %j', async (method, headers, expected) => {
      const file = validators.get(`${entityId} ${key}`);
      if (file === undefined) throw new Error('the file was not uploaded');
      const answer = await ask(method, entityId, key, requestHeaders(headers, file));
      expect(summary(method, answer)).toBe(expected);
      checkHeaders(method, answer, file, size);
    });
  });
});
