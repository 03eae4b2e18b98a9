import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import { type SharedSystem, sharedSystem } from '@kr/testbed/shared-system';
import type { Entity, FilesListing, Listing } from './story/answers.ts';
import { packageDocument, recordDocument } from './story/documents.ts';
import { httpClient } from './story/http-client.ts';
import { link, upload } from './story/stories.ts';

let system: SharedSystem;
beforeAll(async () => {
  system = await sharedSystem();
});
afterAll(() => system?.stop());

/** Every address anywhere in an answer, up to its path. */
function originsIn(value: unknown): string[] {
  if (typeof value === 'string')
    return value.startsWith('http') ? [value.replace(/\/(api|uploads|records|packages|doi)\/.*$/, '')] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(originsIn);
}

const originsOf = (...answers: unknown[]) => [...new Set(answers.flatMap(originsIn))];

/** A request whose `Host` is ours to choose, which fetch does not allow. */
function get(url: string, headers: Record<string, string>): Promise<{ status: number; body: unknown }> {
  return new Promise((resolve, reject) => {
    request(url, { headers }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) }));
    })
      .on('error', reject)
      .end();
  });
}

/** One of each answer that has links. */
async function allAnswers(headers: Record<string, string> = {}): Promise<unknown[]> {
  const author = httpClient(system.baseUrl, system.token);
  const json = recordDocument('Seen from outside', { withFiles: true });
  const draft = await author.sure<Entity>('POST', '/records', { json });
  // The links lead outside, where nothing listens; the way in is the same path.
  const inside = { ...draft, links: { files: `${system.baseUrl}/api/records/${draft.id}/draft/files` } };
  const main = await author.sure<Entity>('POST', '/packages', { json: packageDocument('Seen') });
  const started = await author.sure<FilesListing>('POST', link(inside, 'files'), {
    json: [{ key: 'a.png' }],
    headers,
  });
  return [
    await author.sure<Entity>('GET', `/records/${draft.id}/draft`, { headers }),
    await author.sure<Entity>('GET', `/packages/${main.id}/draft`, { headers }),
    await author.sure<FilesListing>('GET', `/records/${draft.id}/draft/files`, { headers }),
    await author.sure<Listing>('GET', '/user/search?size=1', { headers }),
    started,
  ];
}

describe('a system that trusts no proxy', () => {
  test('starts its links with the host of the request, ignoring forwarding headers', async () => {
    const said = {
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'https',
      forwarded: 'host=evil.example',
    };
    const answers = await allAnswers(said);
    expect(originsOf(...answers)).toEqual([system.baseUrl]);
  });

  test('leads by its links from page to page and back', async () => {
    const author = httpClient(system.baseUrl, system.token);
    for (const number of [1, 2, 3]) {
      const draft = await author.sure<Entity>('POST', '/records', {
        json: recordDocument(`Paged ${number}`),
      });
      await author.sure('POST', link(draft, 'publish'));
    }
    const first = await until(async () => {
      const page = await author.sure<Listing>('GET', '/records?q=paged&size=2');
      return page.hits.total === 3 ? page : undefined;
    });
    const second = await author.sure<Listing>('GET', link(first, 'next'));
    const back = await author.sure<Listing>('GET', link(second, 'prev'));
    expect([first.hits.hits.length, second.hits.hits.length, back, second.links['next']]).toEqual([
      2,
      1,
      first,
      undefined,
    ]);
  });

  test('uploads and downloads by links alone', async () => {
    const author = httpClient(system.baseUrl, system.token);
    const json = recordDocument('By links', { withFiles: true });
    const draft = await author.sure<Entity>('POST', '/records', { json });
    const entry = await upload(author, draft, 'ü & ? #1 %41.txt', Buffer.from('bytes'));
    const published = await author.sure<Entity>('POST', link(draft, 'publish'));
    const { entries } = await author.sure<FilesListing>('GET', link(published, 'files'));
    const [stored = entry] = entries;
    const read = await author.call('GET', link(stored, 'content'));
    expect([stored.key, read.status, read.text]).toEqual(['ü & ? #1 %41.txt', 200, 'bytes']);
  });
});

describe('a system with a public base URL', () => {
  beforeAll(() => system.relaunch('gateway', { PUBLIC_BASE_URL: 'https://hub.example.org/repository/' }));

  test('starts every link with it, for any request', async () => {
    const said = {
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'http',
      forwarded: 'host=evil.example',
    };
    const answers = await allAnswers(said);
    expect(originsOf(...answers)).toEqual(['https://hub.example.org/repository']);
  });

  test('does not believe a Host header either', async () => {
    // Without hits, whose metadata may contain any links.
    const answer = await get(`${system.baseUrl}/api/search?q=xylocopa`, { host: 'evil.example' });
    expect(originsOf(answer.body)).toEqual(['https://hub.example.org/repository']);
  });
});

describe('a system behind a trusted proxy', () => {
  beforeAll(() => system.relaunch('gateway', { TRUSTED_PROXIES: 'loopback' }));

  test.each<{ name: string; headers: Record<string, string>; origin: string }>([
    {
      name: 'X-Forwarded-*',
      headers: { 'x-forwarded-host': 'hub.example.org', 'x-forwarded-proto': 'https' },
      origin: 'https://hub.example.org',
    },
    {
      name: 'the client’s own of a chain',
      headers: { 'x-forwarded-host': 'hub.example.org, inner.example', 'x-forwarded-proto': 'https, http' },
      origin: 'https://hub.example.org',
    },
  ])('starts its links as $name specifies', async ({ headers, origin }) => {
    const answers = await allAnswers(headers);
    expect(originsOf(...answers)).toEqual([origin]);
  });

  test('refuses a forwarded host that is none', async () => {
    const { status } = await get(`${system.baseUrl}/api/search`, {
      'x-forwarded-host': 'evil.example/x?"><script>',
    });
    expect(status).toBe(400);
  });
});
