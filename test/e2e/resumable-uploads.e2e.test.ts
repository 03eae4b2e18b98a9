import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import { type SharedSystem, sharedSystem } from '@kr/testbed/shared-system';
import type { Entity, FileEntry, FilesListing } from './story/answers.ts';
import { packageDocument, recordDocument } from './story/documents.ts';
import { type HttpClient, httpClient } from './story/http-client.ts';
import { link, publish } from './story/stories.ts';

const MAX_FILE_BYTES = 50_000_000;

let system: SharedSystem;
let author: HttpClient;
let draft: Entity;
beforeAll(async () => {
  system = await sharedSystem();
  await system.relaunch('files', { MAX_FILE_BYTES: String(MAX_FILE_BYTES) });
  author = httpClient(system.baseUrl, system.token);
  draft = await author.sure<Entity>('POST', '/records', {
    json: recordDocument('Large', { withFiles: true }),
  });
});
afterAll(() => system?.stop());

type Headers = Readonly<Record<string, string>>;

interface ChangeLog {
  status: number;
  headers: IncomingMessage['headers'];
  body: { code?: string; message?: string; errors?: { field: string }[] };
}

const TUS = { 'tus-resumable': '1.0.0' };
const CHUNK = { ...TUS, 'content-type': 'application/offset+octet-stream' };

/** A request that is under way: its body is sent bit by bit. */
function open(method: string, url: string, headers: Headers, token: string | undefined = system.token) {
  const credentials = token === undefined || token === '' ? {} : { authorization: `Bearer ${token}` };
  const request = httpRequest(url, { method, headers: { ...credentials, ...headers }, agent: false });
  const answer = new Promise<ChangeLog>((resolve, reject) => {
    request.once('error', reject).once('response', (response) => {
      readText(response).then((text) => {
        const { statusCode: status = 0, headers: told } = response;
        resolve({ status, headers: told, body: text === '' ? {} : JSON.parse(text) });
      }, reject);
    });
  });
  return { request, answer };
}

function send(
  method: string,
  url: string,
  headers: Headers,
  body: string | Buffer = '',
  token?: string,
): Promise<ChangeLog> {
  const { request, answer } = open(method, url, headers, token);
  request.end(body);
  return answer;
}

/** A new pending entry. */
async function newEntry(of: Entity = draft, key = `file ${randomUUID()}.bin`): Promise<FileEntry> {
  const { entries } = await author.sure<FilesListing>('POST', link(of, 'files'), { json: [{ key }] });
  const entry = entries.find((one) => one.key === key);
  if (entry === undefined) throw new Error(`${key} was not started`);
  return entry;
}

/** The address of a new upload into an entry. */
async function create(entry: FileEntry, headers: Headers = { 'upload-length': '11' }): Promise<string> {
  const { status, headers: told } = await send('POST', link(entry, 'tus'), { ...TUS, ...headers });
  if (status !== 201 || told.location === undefined) throw new Error(`no upload, but ${status}`);
  return told.location;
}

function patch(
  url: string,
  offset: number,
  bytes: string | Buffer,
  headers: Headers = {},
): Promise<ChangeLog> {
  return send('PATCH', url, { ...CHUNK, 'upload-offset': String(offset), ...headers }, bytes);
}

/** The offset of an upload, or the error of its request. */
async function standing(url: string): Promise<string | number | undefined> {
  const { status, headers } = await send('HEAD', url, TUS);
  return status === 200 ? headers['upload-offset']?.toString() : status;
}

const md5 = (bytes: Buffer | string) => createHash('md5').update(bytes).digest('hex');
const checksum = (algorithm: string, bytes: string) => ({
  'upload-checksum': `${algorithm} ${createHash(algorithm).update(bytes).digest('base64')}`,
});

async function checksumOf(entry: FileEntry): Promise<unknown> {
  const committed = await author.call<FileEntry>('POST', link(entry, 'commit'));
  return committed.status === 200 ? committed.body.checksum : committed.status;
}

interface Case {
  name: string;
  /** How an upload was begun before, and what it has; none is begun where this is absent. */
  given?: Headers;
  has?: string;
  /** The request, to the upload if there is one, else to the entry's URL for uploads. */
  method: string;
  headers?: Headers;
  body?: string;
  status: number;
  /** Headers of the answer; undefined ones must be absent. */
  told?: Readonly<Record<string, unknown>>;
  code?: string;
  field?: string;
  /** The result of HEAD for the upload afterwards: its offset, or a status. */
  after?: string | number;
}

const ELEVEN = { 'upload-length': '11' };
const DEFERRED = { 'upload-defer-length': '1' };
const at = (offset: number, more: Headers = {}): Headers => ({
  ...CHUNK,
  'upload-offset': String(offset),
  ...more,
});
const EXPIRES = expect.stringMatching(/^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/);
const CAPABILITIES = {
  'tus-resumable': '1.0.0',
  'tus-version': '1.0.0',
  'tus-extension': 'creation,creation-with-upload,creation-defer-length,checksum,termination,expiration',
  'tus-max-size': String(MAX_FILE_BYTES),
  'tus-checksum-algorithm': 'sha256,sha1,md5',
};

const CASES: readonly Case[] = [
  { name: 'returns the options', method: 'OPTIONS', headers: {}, status: 204, told: CAPABILITIES },
  {
    name: 'returns the options at an upload too',
    given: ELEVEN,
    method: 'OPTIONS',
    headers: {},
    status: 204,
    told: { ...CAPABILITIES, allow: 'OPTIONS, HEAD, PATCH, DELETE' },
  },

  {
    name: 'begins an upload',
    method: 'POST',
    headers: { ...TUS, ...ELEVEN },
    status: 201,
    told: { location: expect.stringMatching(/\/tus\/[0-9a-f-]{36}$/), 'upload-expires': EXPIRES },
    after: '0',
  },
  {
    name: 'begins an upload whose length is declared later',
    method: 'POST',
    headers: { ...TUS, ...DEFERRED },
    status: 201,
    after: '0',
  },
  {
    name: 'begins an upload with its first bytes',
    method: 'POST',
    headers: { ...CHUNK, ...ELEVEN },
    body: 'hello ',
    status: 201,
    told: { 'upload-offset': '6', 'upload-expires': EXPIRES },
    after: '6',
  },
  {
    name: 'begins and ends an upload at once',
    method: 'POST',
    headers: { ...CHUNK, ...ELEVEN },
    body: 'hello world',
    status: 201,
    told: { 'upload-offset': '11', 'upload-expires': undefined },
    after: '11',
  },
  {
    name: 'ignores a first body of another type',
    method: 'POST',
    headers: { ...TUS, ...ELEVEN, 'content-type': 'application/x-www-form-urlencoded' },
    body: 'hello ',
    status: 201,
    after: '0',
  },
  { name: 'needs a length', method: 'POST', headers: TUS, status: 400 },
  { name: 'needs one length', method: 'POST', headers: { ...TUS, ...ELEVEN, ...DEFERRED }, status: 400 },
  ...['-1', '1.5', 'eleven', '1e3', '', '99999999999999999999', '11, 12'].map((length) => ({
    name: `takes no length of ${JSON.stringify(length)}`,
    method: 'POST',
    headers: { ...TUS, 'upload-length': length },
    status: 400,
  })),
  {
    name: 'takes no deferral but 1',
    method: 'POST',
    headers: { ...TUS, 'upload-defer-length': '2' },
    status: 400,
  },
  {
    name: 'takes no length above the limit',
    method: 'POST',
    headers: { ...TUS, 'upload-length': String(MAX_FILE_BYTES + 1) },
    status: 413,
    code: 'upload_too_large',
  },
  {
    name: 'takes no first bytes beyond the length',
    method: 'POST',
    headers: { ...CHUNK, 'upload-length': '3' },
    body: 'four',
    status: 413,
    code: 'upload_too_large',
  },
  {
    name: 'takes no metadata that is none',
    method: 'POST',
    headers: { ...TUS, ...ELEVEN, 'upload-metadata': 'filename not-base64!' },
    status: 400,
  },
  {
    name: 'concatenates nothing',
    method: 'POST',
    headers: { ...TUS, ...ELEVEN, 'upload-concat': 'partial' },
    status: 400,
    field: 'upload_concat',
  },
  {
    name: 'begins nothing with bytes that do not match their checksum',
    method: 'POST',
    headers: { ...CHUNK, ...ELEVEN, ...checksum('sha1', 'other') },
    body: 'hello ',
    status: 460,
    code: 'checksum_mismatch',
    told: { location: undefined },
  },

  {
    name: 'returns the offset',
    given: { ...ELEVEN, 'upload-metadata': 'filename w7wudHh0,isPrivate' },
    has: 'hello ',
    method: 'HEAD',
    headers: TUS,
    status: 200,
    told: {
      'upload-offset': '6',
      'upload-length': '11',
      'upload-defer-length': undefined,
      'upload-metadata': 'filename w7wudHh0,isPrivate',
      'upload-expires': EXPIRES,
      'cache-control': 'no-store',
      'tus-resumable': '1.0.0',
    },
    after: '6',
  },
  {
    name: 'returns that the length is deferred',
    given: DEFERRED,
    method: 'HEAD',
    headers: TUS,
    status: 200,
    told: { 'upload-offset': '0', 'upload-length': undefined, 'upload-defer-length': '1' },
  },
  {
    name: 'returns that a finished upload is finished',
    given: ELEVEN,
    has: 'hello world',
    method: 'HEAD',
    headers: TUS,
    status: 200,
    told: { 'upload-offset': '11', 'upload-length': '11', 'upload-expires': undefined },
  },

  {
    name: 'adds bytes',
    given: ELEVEN,
    has: 'hello ',
    method: 'PATCH',
    headers: at(6),
    body: 'wor',
    status: 204,
    told: { 'upload-offset': '9', 'upload-expires': EXPIRES },
    after: '9',
  },
  {
    name: 'adds nothing',
    given: ELEVEN,
    has: 'hello ',
    method: 'PATCH',
    headers: at(6),
    status: 204,
    told: { 'upload-offset': '6' },
    after: '6',
  },
  {
    name: 'takes the type in any case',
    given: ELEVEN,
    method: 'PATCH',
    headers: at(0, { 'content-type': 'Application/Offset+Octet-Stream' }),
    body: 'hello ',
    status: 204,
    after: '6',
  },
  ...[0, 5, 7, 11].map((offset) => ({
    name: `adds nothing at ${offset} behind 6 bytes`,
    given: ELEVEN,
    has: 'hello ',
    method: 'PATCH',
    headers: at(offset),
    body: 'wor',
    status: 409,
    code: 'upload_offset_mismatch',
    after: '6',
  })),
  {
    name: 'needs an offset',
    given: ELEVEN,
    method: 'PATCH',
    headers: CHUNK,
    body: 'hello ',
    status: 400,
    field: 'upload_offset',
    after: '0',
  },
  ...['-1', '0.5', 'x', ''].map((offset) => ({
    name: `takes no offset of ${JSON.stringify(offset)}`,
    given: ELEVEN,
    method: 'PATCH',
    headers: { ...CHUNK, 'upload-offset': offset },
    body: 'hello ',
    status: 400,
    after: '0',
  })),
  ...['application/octet-stream', 'text/plain', 'application/offset'].map((type) => ({
    name: `takes no bytes of type ${type}`,
    given: ELEVEN,
    method: 'PATCH',
    headers: at(0, { 'content-type': type }),
    body: 'hello ',
    status: 415,
    after: '0',
  })),
  {
    name: 'takes no bytes without a type',
    given: ELEVEN,
    method: 'PATCH',
    headers: { ...TUS, 'upload-offset': '0' },
    body: 'hello ',
    status: 415,
    after: '0',
  },
  {
    name: 'takes no bytes beyond the length',
    given: ELEVEN,
    has: 'hello ',
    method: 'PATCH',
    headers: at(6),
    body: 'world!',
    status: 413,
    code: 'upload_too_large',
    after: '6',
  },
  {
    name: 'takes no bytes beyond the undeclared length',
    given: ELEVEN,
    has: 'hello ',
    method: 'PATCH',
    headers: at(6, { 'transfer-encoding': 'chunked' }),
    body: 'world!',
    status: 413,
    code: 'upload_too_large',
    after: '6',
  },
  {
    name: 'takes nothing for a finished upload',
    given: ELEVEN,
    has: 'hello world',
    method: 'PATCH',
    headers: at(11, { 'transfer-encoding': 'chunked' }),
    body: '!',
    status: 413,
    code: 'upload_too_large',
    after: '11',
  },
  {
    name: 'lets a finished upload be finished again',
    given: ELEVEN,
    has: 'hello world',
    method: 'PATCH',
    headers: at(11),
    status: 204,
    told: { 'upload-offset': '11' },
    after: '11',
  },

  ...['md5', 'sha1', 'sha256'].map((algorithm) => ({
    name: `takes bytes that match their ${algorithm}`,
    given: ELEVEN,
    method: 'PATCH',
    headers: at(0, checksum(algorithm, 'hello ')),
    body: 'hello ',
    status: 204,
    after: '6',
  })),
  ...['md5', 'sha1', 'sha256'].map((algorithm) => ({
    name: `keeps nothing of bytes that do not match their ${algorithm}`,
    given: ELEVEN,
    has: 'hello ',
    method: 'PATCH',
    headers: at(6, checksum(algorithm, 'world')),
    body: 'w0rld',
    status: 460,
    code: 'checksum_mismatch',
    after: '6',
  })),
  {
    name: 'knows no other algorithm',
    given: ELEVEN,
    method: 'PATCH',
    headers: at(0, { 'upload-checksum': 'crc32 AAAAAA==' }),
    body: 'hello ',
    status: 400,
    code: 'checksum_unsupported',
    field: 'upload_checksum',
    after: '0',
  },
  ...['sha1', 'sha1 short', 'sha1 !', 'sha1 AAAA'].map((header) => ({
    name: `takes no checksum of ${JSON.stringify(header)}`,
    given: ELEVEN,
    method: 'PATCH',
    headers: at(0, { 'upload-checksum': header }),
    body: 'hello ',
    status: 400,
    field: 'upload_checksum',
    after: '0',
  })),

  {
    name: 'takes the length with the last bytes',
    given: DEFERRED,
    has: 'hello ',
    method: 'PATCH',
    headers: at(6, ELEVEN),
    body: 'world',
    status: 204,
    told: { 'upload-offset': '11', 'upload-expires': undefined },
    after: '11',
  },
  {
    name: 'takes the length without bytes when all have arrived',
    given: DEFERRED,
    has: 'hello world',
    method: 'PATCH',
    headers: at(11, ELEVEN),
    status: 204,
    told: { 'upload-offset': '11', 'upload-expires': undefined },
    after: '11',
  },
  {
    name: 'takes no second length',
    given: ELEVEN,
    method: 'PATCH',
    headers: at(0, { 'upload-length': '12' }),
    body: 'hello ',
    status: 400,
    after: '0',
  },
  {
    name: 'takes no length below the offset',
    given: DEFERRED,
    has: 'hello ',
    method: 'PATCH',
    headers: at(6, { 'upload-length': '5' }),
    status: 400,
    after: '6',
  },
  {
    name: 'takes no late length above the limit',
    given: DEFERRED,
    has: 'hello ',
    method: 'PATCH',
    headers: at(6, { 'upload-length': String(MAX_FILE_BYTES + 1) }),
    status: 413,
    code: 'upload_too_large',
    after: '6',
  },

  {
    name: 'gives an upload up',
    given: ELEVEN,
    has: 'hello ',
    method: 'DELETE',
    headers: TUS,
    status: 204,
    after: 404,
  },
  {
    name: 'gives a finished upload up',
    given: ELEVEN,
    has: 'hello world',
    method: 'DELETE',
    headers: TUS,
    status: 204,
    after: 404,
  },

  ...['HEAD', 'PATCH', 'DELETE'].flatMap((method) => [
    {
      name: `needs the version for ${method}`,
      given: ELEVEN,
      method,
      headers: { 'content-type': 'application/offset+octet-stream', 'upload-offset': '0' },
      status: 412,
      ...(method === 'HEAD' ? {} : { code: 'tus_version_unsupported' }),
      told: { 'tus-version': '1.0.0' },
      after: '0',
    },
    {
      name: `does nothing of another version for ${method}`,
      given: ELEVEN,
      method,
      headers: at(0, { 'tus-resumable': '0.2.2' }),
      status: 412,
      ...(method === 'HEAD' ? {} : { code: 'tus_version_unsupported' }),
      told: { 'tus-version': '1.0.0' },
      after: '0',
    },
  ]),
  {
    name: 'begins nothing of another version',
    method: 'POST',
    headers: { ...ELEVEN, 'tus-resumable': '2.0.0' },
    status: 412,
    code: 'tus_version_unsupported',
    told: { 'tus-version': '1.0.0', location: undefined },
  },

  {
    name: 'takes POST for PATCH',
    given: ELEVEN,
    method: 'POST',
    headers: at(0, { 'x-http-method-override': 'PATCH' }),
    body: 'hello ',
    status: 204,
    told: { 'upload-offset': '6' },
    after: '6',
  },
  {
    name: 'takes POST for HEAD',
    given: ELEVEN,
    has: 'hello ',
    method: 'POST',
    headers: { ...TUS, 'x-http-method-override': 'HEAD' },
    status: 200,
    told: { 'upload-offset': '6' },
  },
  {
    name: 'takes POST for DELETE',
    given: ELEVEN,
    method: 'POST',
    headers: { ...TUS, 'x-http-method-override': 'DELETE' },
    status: 204,
    after: 404,
  },
  ...['GET', 'POST', 'PUT'].map((method) => ({
    name: `has no ${method} of a finished upload`,
    given: ELEVEN,
    has: 'hello world',
    method,
    headers: TUS,
    status: 405,
    told: { allow: 'OPTIONS, HEAD, PATCH, DELETE' },
    after: '11',
  })),
];

/** The `code` of refusals without a specific one. */
const CODE_OF: Record<number, string> = {
  400: 'malformed_request',
  405: 'method_not_allowed',
  415: 'unsupported_media_type',
};

describe('the protocol', () => {
  test.each(CASES)(
    '$name',
    async ({ given, has = '', method, headers = TUS, body, status, told, code, field, after }) => {
      const entry = await newEntry();
      let url = link(entry, 'tus');
      if (given !== undefined) {
        url = await create(entry, given);
        if (has !== '') expect((await patch(url, 0, has)).status).toBe(204);
      }
      const answer = await send(method, url, { origin: 'http://elsewhere.example', ...headers }, body);
      const usualCode = field === undefined ? CODE_OF[status] : 'invalid';
      expect({
        status: answer.status,
        code: answer.body.code,
        field: answer.body.errors?.[0]?.field,
        isOpenToPages: Object.keys(answer.headers).some((name) => name.startsWith('access-control')),
        version: answer.headers['tus-resumable'],
      }).toEqual({ status, code: code ?? usualCode, field, isOpenToPages: false, version: '1.0.0' });
      for (const [name, value] of Object.entries(told ?? {})) {
        expect([name, answer.headers[name]]).toEqual([name, value]);
      }
      if (after !== undefined) expect(await standing(answer.headers.location ?? url)).toBe(after);
    },
  );
});

describe('an upload', () => {
  test.each([
    { kind: 'resource', all: '/records', document: recordDocument },
    { kind: 'package', all: '/packages', document: packageDocument },
  ])(
    'of a $kind makes its file ready to be committed, and is published with it',
    async ({ all, document }) => {
      const owner = await author.sure<Entity>('POST', all, { json: document('Owner', { withFiles: true }) });
      const entry = await newEntry(owner, 'ü b.txt');
      const url = await create(entry);
      expect(url).toMatch(
        new RegExp(`^${system.baseUrl}/api${all}/[^/]+/draft/files/%C3%BC%20b.txt/tus/[0-9a-f-]+$`),
      );
      expect(await checksumOf(entry)).toBe(400);
      await patch(url, 0, 'hello ');
      expect(await checksumOf(entry)).toBe(400);
      await patch(url, 6, 'world');
      expect(await checksumOf(entry)).toBe(`md5:${md5('hello world')}`);
      const committed = [
        await standing(url),
        (await patch(url, 11, '')).status,
        (await send('DELETE', url, TUS)).status,
      ];
      expect(committed).toEqual(['11', 204, 400]);
      const published = await publish(author, owner);
      expect(await standing(url)).toBe(404);
      const listing = await author.sure<FilesListing>('GET', link(published, 'files'));
      const { text } = await author.call('GET', link(listing.entries[0] ?? entry, 'content'));
      expect(text).toBe('hello world');
    },
  );

  test('without bytes is finished when it is begun', async () => {
    const entry = await newEntry();
    const url = await create(entry, { 'upload-length': '0' });
    expect([await standing(url), await checksumOf(entry)]).toEqual(['0', `md5:${md5('')}`]);
  });

  test('that is deleted when it is finished removes its bytes, but not those uploaded after it', async () => {
    const entry = await newEntry();
    const url = await create(entry);
    await patch(url, 0, 'hello world');
    await send('DELETE', url, TUS);
    expect(await checksumOf(entry)).toBe(400);

    const again = await create(entry);
    await patch(again, 0, 'hello world');
    await author.sure('PUT', link(entry, 'content'), { bytes: Buffer.from('newer') });
    expect((await send('DELETE', again, TUS)).status).toBe(204);
    expect(await checksumOf(entry)).toBe(`md5:${md5('newer')}`);
  });

  test('replaces the one before, also when that was finished, and its bytes when it is', async () => {
    const entry = await newEntry();
    const first = await create(entry);
    await patch(first, 0, 'hello world');
    const second = await create(entry, { 'upload-length': '5' });
    const third = await create(entry, { 'upload-length': '5' });
    const gone = [await standing(first), await standing(second), (await patch(second, 0, 'xxxxx')).status];
    expect(gone).toEqual([404, 404, 404]);
    await patch(third, 0, 'later');
    expect(await checksumOf(entry)).toBe(`md5:${md5('later')}`);
  });

  test('goes with its entry, and with its draft', async () => {
    const owner = await author.sure<Entity>('POST', '/records', {
      json: recordDocument('Gone', { withFiles: true }),
    });
    const [entry, other] = [await newEntry(owner), await newEntry(owner)];
    const [url, of] = [await create(entry), await create(other)];
    await author.sure('DELETE', link(entry, 'self'));
    const withoutEntry = [await standing(url), (await patch(url, 0, 'x')).status, await standing(of)];
    expect([...withoutEntry, (await send('POST', link(entry, 'tus'), { ...TUS, ...ELEVEN })).status]).toEqual(
      [404, 404, '0', 404],
    );
    await author.sure('DELETE', link(owner, 'self'));
    expect([await standing(of), (await patch(of, 0, 'x')).status]).toEqual([404, 404]);
  });

  test('is not begun for a file that is committed', async () => {
    const entry = await newEntry();
    await author.sure('PUT', link(entry, 'content'), { bytes: Buffer.from('x') });
    await author.sure('POST', link(entry, 'commit'));
    expect((await send('POST', link(entry, 'tus'), { ...TUS, ...ELEVEN })).status).toBe(400);
  });

  test('is known at its own file only', async () => {
    const [entry, other] = [await newEntry(), await newEntry()];
    const id = (await create(entry)).split('/').at(-1);
    const elsewhere = [
      `${link(other, 'tus')}/${id}`,
      `${link(entry, 'tus')}/${id}x`,
      `${link(entry, 'tus')}/%00`,
    ];
    expect(await Promise.all(elsewhere.map(standing))).toEqual([404, 404, 404]);
    expect((await patch(`${link(other, 'tus')}/${id}`, 0, 'x')).status).toBe(404);
  });

  test('is inaccessible to users who may not write to the draft', async () => {
    const entry = await newEntry();
    const url = await create(entry);
    await patch(url, 0, 'hello world');
    const stranger = (await system.createUser('uploads-stranger')).token;
    const tokenOf = async (permission: string) =>
      (await author.sure<{ token: string }>('POST', link(draft, 'access_links'), { json: { permission } }))
        .token;
    const [view, preview, edit] = [await tokenOf('view'), await tokenOf('preview'), await tokenOf('edit')];
    const asked = async (query: string, token: string) => {
      const statuses: number[] = [];
      for (const [method, target, headers] of [
        ['HEAD', url, TUS],
        ['GET', url, TUS],
        ['PATCH', url, at(11)],
        ['DELETE', url, TUS],
        ['POST', link(entry, 'tus'), { ...TUS, ...ELEVEN }],
      ] as const) {
        statuses.push((await send(method, target + query, headers, '', token)).status);
      }
      return statuses;
    };
    expect({
      nobody: await asked('', ''),
      stranger: await asked('', stranger),
      view: await asked(`?token=${view}`, ''),
      preview: await asked(`?token=${preview}`, ''),
      before: await standing(url),
      edit: await asked(`?token=${edit}`, ''),
    }).toEqual({
      nobody: [401, 405, 401, 401, 401],
      stranger: [403, 405, 403, 403, 403],
      view: [403, 405, 403, 403, 403],
      preview: [403, 405, 403, 403, 403],
      before: '11',
      edit: [200, 405, 204, 204, 201],
    });
  });

  test('is refused as problem details if those are accepted', async () => {
    const url = await create(await newEntry());
    const accept = { accept: 'application/problem+json' };
    const answer = await patch(url, 3, 'x', accept);
    expect([answer.status, answer.headers['content-type'], answer.body]).toEqual([
      409,
      'application/problem+json',
      expect.objectContaining({ type: 'about:blank', status: 409, code: 'upload_offset_mismatch' }),
    ]);
  });

  test('is begun once for one idempotency key', async () => {
    const entry = await newEntry();
    const headers = { ...TUS, ...ELEVEN, 'idempotency-key': `upload ${entry.key}` };
    const [first, second] = [
      await send('POST', link(entry, 'tus'), headers),
      await send('POST', link(entry, 'tus'), headers),
    ];
    expect([first.status, second.status, second.headers['idempotency-replayed']]).toEqual([201, 201, 'true']);
    expect(second.headers.location).toBe(first.headers.location);
  });

  test('keeps the received bytes when its connection breaks, and continues after them', async () => {
    const entry = await newEntry();
    const bytes = randomBytes(3_000_017);
    const url = await create(entry, { 'upload-length': String(bytes.length) });
    let offset = 0;
    for (const reach of [700_001, 1_500_003]) {
      // Any part of the data on a breaking connection may be lost.
      const brokenOff = async () => {
        const rest = { 'content-length': String(bytes.length - offset) };
        const { request, answer } = open('PATCH', url, at(offset, rest));
        answer.catch(() => undefined);
        await sendPart(request, bytes.subarray(offset, reach));
        request.destroy();
        const stands = Number(await standing(url));
        return stands > offset ? stands : undefined;
      };
      offset = await until(brokenOff, { what: 'bytes that were kept' });
      expect(offset).toBeLessThanOrEqual(reach);
    }
    expect((await patch(url, offset, bytes.subarray(offset))).status).toBe(204);
    expect(await checksumOf(entry)).toBe(`md5:${md5(bytes)}`);
  });

  test('with a checksum keeps nothing when its connection breaks', async () => {
    const url = await create(await newEntry());
    const { request, answer } = open(
      'PATCH',
      url,
      at(0, { 'content-length': '11', ...checksum('md5', 'hello world') }),
    );
    answer.catch(() => undefined);
    await sendPart(request, 'hello ');
    request.destroy();
    await until(async () => (await patch(url, 0, 'hello world')).status === 204);
  });

  test('may be slow', async () => {
    const entry = await newEntry();
    const bytes = randomBytes(4_096);
    const url = await create(entry, { 'upload-length': '4096' });
    const { request, answer } = open('PATCH', url, at(0, { 'content-length': '4096' }));
    // A kilobyte a second, in small pieces.
    for (let sent = 0; sent < bytes.length; sent += 256) {
      request.write(bytes.subarray(sent, sent + 256));
      await sleep(250);
    }
    request.end();
    expect([(await answer).status, await checksumOf(entry)]).toEqual([204, `md5:${md5(bytes)}`]);
  });

  test('changes writers: the former one is notified, and no byte is lost or doubled', async () => {
    const entry = await newEntry();
    const bytes = randomBytes(200_000);
    const url = await create(entry, { 'upload-length': String(bytes.length) });
    const first = open('PATCH', url, at(0, { 'content-length': String(bytes.length) }));
    await sendPart(first.request, bytes.subarray(0, 50_000));
    let told: ChangeLog | undefined;
    first.answer.then(
      (answer) => {
        told = answer;
      },
      () => undefined,
    );
    // Reading the offset of an upload takes it over.
    const { status, body, headers } = await until(
      async () => {
        await standing(url);
        return told;
      },
      { what: 'an answer to the first writer' },
    );
    first.request.destroy();
    expect([status, body.code, headers['retry-after']]).toEqual([409, 'upload_in_use', '1']);
    const offset = Number(await standing(url));
    expect((await patch(url, offset, bytes.subarray(offset))).status).toBe(204);
    expect(await checksumOf(entry)).toBe(`md5:${md5(bytes)}`);
  });

  test('has one winner for the same bytes', async () => {
    const entry = await newEntry();
    const url = await create(entry);
    const answers = await Promise.all(Array.from({ length: 4 }, () => patch(url, 0, 'hello world')));
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 409, 409, 409]);
    expect(await checksumOf(entry)).toBe(`md5:${md5('hello world')}`);
  });

  test('goes on beside fifteen others', async () => {
    const all = await Promise.all(
      Array.from({ length: 16 }, async () => ({ entry: await newEntry(), bytes: randomBytes(1_000_003) })),
    );
    const sums = await Promise.all(
      all.map(async ({ entry, bytes }) => {
        const url = await create(entry, { 'upload-length': String(bytes.length) });
        for (let offset = 0; offset < bytes.length; offset += 262_144) {
          const answer = await patch(url, offset, bytes.subarray(offset, offset + 262_144));
          if (answer.status !== 204) return answer.status;
        }
        return checksumOf(entry);
      }),
    );
    expect(sums).toEqual(all.map(({ bytes }) => `md5:${md5(bytes)}`));
  });
});

/** Sends a part of the body, and waits until it has left this process. */
function sendPart(request: ClientRequest, bytes: string | Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    request.write(bytes, (error) => (error ? reject(error) : resolve()));
  });
}
