import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type SharedSystem, sharedSystem } from '@kr/testbed/shared-system';
import type { Entity } from './story/answers.ts';
import { recordDocument } from './story/documents.ts';
import { type FrontProxy, startFrontProxy } from './story/front-proxy.ts';
import { type HttpClient, httpClient } from './story/http-client.ts';
import { publish, upload } from './story/stories.ts';

let system: SharedSystem;
let streaming: SharedSystem;
let proxy: FrontProxy;
const bytes = randomBytes(300_000);
const FILES = ['data.bin', 'ä "b".html', 'notes.txt', 'empty.csv'] as const;

beforeAll(async () => {
  [system, streaming] = await Promise.all([sharedSystem(), sharedSystem()]);
  await system.relaunch('gateway', { TRUSTED_PROXIES: '127.0.0.1/32', FILES_X_ACCEL: 'true' });
  proxy = await startFrontProxy(system.baseUrl, system.filesDir);
});
afterAll(async () => {
  await proxy?.stop();
  await Promise.all([system?.stop(), streaming?.stop()]);
});

async function withFiles(client: HttpClient, isRestricted = false): Promise<Entity> {
  const document = recordDocument('Sent by the proxy', { withFiles: true });
  const json = isRestricted ? { ...document, access: { record: 'public', files: 'restricted' } } : document;
  const draft = await client.sure<Entity>('POST', '/records', { json });
  for (const key of FILES) await upload(client, draft, key, key === 'empty.csv' ? Buffer.alloc(0) : bytes);
  return draft;
}

/** Values that differ between answers or systems. */
const OWN = new Set(['date', 'x-request-id', 'last-modified', 'connection', 'keep-alive']);

async function seen(
  client: HttpClient,
  target: string,
  headers: Record<string, string> = {},
  method = 'GET',
) {
  const answer = await client.call(method, target, { headers });
  const told = [...answer.headers]
    .filter(([name]) => !OWN.has(name))
    .map(([name, value]) => [name, name === 'link' ? value.replace(/<[^>]*>/g, '<an entity>') : value]);
  return { status: answer.status, headers: Object.fromEntries(told), bytes: answer.bytes.toString('latin1') };
}

const contentOf = (entity: Entity, key: string, form = '') =>
  `/records/${entity.id}${form}/files/${encodeURIComponent(key)}/content`;

test('a download by the proxy has every header that the gateway would send, drafts and published', async () => {
  const [inside, direct] = [
    httpClient(system.baseUrl, system.token),
    httpClient(streaming.baseUrl, streaming.token),
  ];
  const [author, reader] = [httpClient(proxy.baseUrl, system.token), httpClient(proxy.baseUrl)];
  const drafts = [await withFiles(inside), await withFiles(direct)] as const;
  for (const key of FILES) {
    const before = proxy.sent();
    const handed = await seen(author, contentOf(drafts[0], key, '/draft'));
    expect([key, proxy.sent() - before]).toEqual([key, 1]);
    expect(handed).toEqual(await seen(direct, contentOf(drafts[1], key, '/draft')));
  }
  const published = [await publish(inside, drafts[0]), await publish(direct, drafts[1])] as const;
  const anonymous = httpClient(streaming.baseUrl);
  for (const key of FILES) {
    const handed = await seen(reader, contentOf(published[0], key));
    expect(handed).toEqual(await seen(anonymous, contentOf(published[1], key)));
    expect(handed.headers).toMatchObject({
      'content-security-policy': "default-src 'none'; sandbox",
      etag: expect.stringMatching(/^"md5:/),
      'repr-digest': expect.stringMatching(/^sha-256=/),
      'content-md5': expect.stringMatching(/^[0-9a-f]{32}$/),
    });
  }
  const { headers } = await reader.call('GET', contentOf(published[0], 'data.bin'));
  expect(headers.get('last-modified')).toMatch(/ GMT$/);
  expect([headers.get('x-accel-redirect'), headers.get('kr-stored-path')]).toEqual([null, null]);

  const tag = headers.get('etag') ?? '';
  const requests: [string, Record<string, string>, number, boolean][] = [
    ['GET', { range: 'bytes=10-19' }, 206, true],
    ['GET', { range: 'bytes=-5' }, 206, true],
    ['GET', { range: 'bytes=299999-' }, 206, true],
    ['GET', { range: 'bytes=300000-' }, 416, false],
    ['GET', { range: 'bytes=0-1,5-6' }, 200, false],
    ['GET', { range: 'lines=1-2' }, 200, false],
    ['GET', { range: 'bytes=0-9', 'if-range': tag }, 206, false],
    ['GET', { range: 'bytes=0-9', 'if-range': '"other"' }, 200, false],
    ['GET', { 'if-none-match': tag }, 304, false],
    ['GET', { 'if-none-match': '"other"' }, 200, true],
    ['GET', { 'if-match': tag }, 200, false],
    ['GET', { 'if-match': '"other"' }, 412, false],
    ['HEAD', {}, 200, false],
  ];
  for (const [method, asked, status, isHanded] of requests) {
    const before = proxy.sent();
    const handed = await seen(reader, contentOf(published[0], 'data.bin'), asked, method);
    expect([asked, handed.status, proxy.sent() - before]).toEqual([asked, status, isHanded ? 1 : 0]);
    const straight = await seen(anonymous, contentOf(published[1], 'data.bin'), asked, method);
    // Other tests check the texts of refusals.
    if (status < 400) expect({ asked, ...handed }).toEqual({ asked, ...straight });
  }
});

test('no file is passed to the proxy before every decision, nor to clients that bypass the proxy', async () => {
  const author = httpClient(system.baseUrl, system.token);
  const published = await publish(author, await withFiles(author, true));
  const before = proxy.sent();
  const refused = await httpClient(proxy.baseUrl).call('GET', contentOf(published, 'data.bin'));
  const missing = await httpClient(proxy.baseUrl, system.token).call('GET', contentOf(published, 'no such'));
  expect([refused.status, missing.status, proxy.sent() - before]).toEqual([403, 404, 0]);
  const allowed = await httpClient(proxy.baseUrl, system.token).call('GET', contentOf(published, 'data.bin'));
  expect([allowed.status, allowed.bytes.equals(bytes), proxy.sent() - before]).toEqual([200, true, 1]);
  const past = await author.call('GET', contentOf(published, 'data.bin'));
  expect([past.status, past.headers.get('x-accel-redirect'), past.bytes.equals(bytes)]).toEqual([
    200,
    null,
    true,
  ]);
});

test('who is no trusted proxy is sent the bytes', async () => {
  const environment = { TRUSTED_PROXIES: '192.0.2.1/32', FILES_X_ACCEL: 'true' };
  await system.relaunch('gateway', environment);
  const author = httpClient(system.baseUrl, system.token);
  const draft = await withFiles(author);
  const answer = await author.call('GET', contentOf(draft, 'data.bin', '/draft'), {
    headers: { 'kr-x-accel': 'path', 'x-accel-support': 'x-accel-redirect' },
  });
  expect([answer.headers.get('x-accel-redirect'), answer.headers.get('kr-stored-path')]).toEqual([
    null,
    null,
  ]);
  expect(answer.bytes.equals(bytes)).toBe(true);
});
