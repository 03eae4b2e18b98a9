import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import type { Entity, Listing } from './story/answers.ts';
import { recordDocument } from './story/documents.ts';
import { type HttpClient, httpClient } from './story/http-client.ts';
import { link, publish } from './story/stories.ts';

/** More than the largest page may have. */
const RECORDS = 12;
const VERSIONS = 6;
/** More than a megabyte when stored, and ten times as much in memory. */
const POSITIONS = 120_000;
/** The documents of all these pages need more memory than a process has. */
const PAGES = 6;
const VERSION_PAGES = 10;

let system: TestSystem;
let author: HttpClient;
let visitor: HttpClient;
let versions: Entity;

beforeAll(async () => {
  system = await startSystem();
  author = httpClient(system.baseUrl, (await system.createUser('author')).token);
  visitor = httpClient(system.baseUrl);
  for (let n = 0; n < RECORDS; n += 1) await published(`Coast ${n}`);
  versions = await published('River');
  for (let n = 0; n < VERSIONS; n += 1) {
    const draft = await author.sure<Entity>('POST', `/records/${versions.id}/versions`);
    await author.sure('PUT', link(draft, 'self'), { json: largeDocument('River') });
    versions = await publish(author, draft);
  }
});
afterAll(() => system.stop());

function largeDocument(title: string): object {
  const coordinates = Array.from({ length: POSITIONS }, (_, n) => [n % 90, n % 45]);
  const features = [{ geometry: { type: 'LineString', coordinates } }];
  const { metadata, ...document } = recordDocument(title) as { metadata: object };
  return { ...document, metadata: { ...metadata, locations: { features } } };
}

async function published(title: string): Promise<Entity> {
  const draft = await author.sure<Entity>('POST', '/records', { json: largeDocument(title) });
  return publish(author, draft);
}

const processes = () =>
  ['gateway', 'records', 'packages', 'search'].map((name) => system.pid(name as 'records'));

describe('pages of large documents', () => {
  test('are refused with the next step when they are too large, and no process ends', async () => {
    const before = processes();
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => visitor.call('GET', `/records?q=Coast&size=${RECORDS}`)),
    );
    for (const { status, body } of answers)
      expect([status, body]).toEqual([400, expect.objectContaining({ code: 'answer_too_large' })]);
    expect(processes()).toEqual(before);
  });

  test('are answered one after the other, and no process ends', async () => {
    const before = processes();
    const answers = await Promise.all(
      Array.from({ length: PAGES }, () => visitor.call<Listing>('GET', '/records?q=Coast&size=10')),
    );
    expect(answers.map(({ status }) => status).filter((status) => status !== 200 && status !== 503)).toEqual(
      [],
    );
    expect(answers.some(({ status, body }) => status === 200 && body.hits.hits.length === 10)).toBe(true);
    expect(processes()).toEqual(before);
  });

  test('of versions load only what they show', async () => {
    const before = processes();
    const path = `/records/${versions.id}/versions?size=1`;
    const answers = await Promise.all(
      Array.from({ length: VERSION_PAGES }, () => visitor.call<Listing>('GET', path)),
    );
    for (const { status, body } of answers)
      expect([status, body.hits.total, body.hits.hits.length]).toEqual([200, VERSIONS + 1, 1]);
    expect(processes()).toEqual(before);
  });
});
