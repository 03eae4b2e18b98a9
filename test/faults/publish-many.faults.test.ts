import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import { type SharedSystem, sharedSystem } from '@kr/testbed/shared-system';
import type { Entity, Listing } from '../e2e/story/answers.ts';
import { packageDocument, recordDocument } from '../e2e/story/documents.ts';
import { type HttpClient, httpClient } from '../e2e/story/http-client.ts';
import { relate } from '../e2e/story/stories.ts';
import { scaled } from './scale.ts';

/** The most that one request may name. */
const AT_ONCE = 100;
const WRITERS = 8;

let system: SharedSystem;
let author: HttpClient;
let anybody: HttpClient;
beforeAll(async () => {
  system = await sharedSystem();
  author = httpClient(system.baseUrl, system.token);
  anybody = httpClient(system.baseUrl);
});
afterAll(() => system?.stop());

async function createdResources(count: number): Promise<Entity[]> {
  const created: Entity[] = [];
  let next = 0;
  const write = async () => {
    while (next < count) {
      next += 1;
      const json = recordDocument(`One of many: ${next}`);
      created.push(await author.sure<Entity>('POST', '/records', { json, timeoutMs: 60_000 }));
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, write));
  return created;
}

test.each([0, scaled(200, 1_000)])(
  'a package of %i resources is published at one moment and found whole',
  async (count) => {
    const main = await author.sure<Entity>('POST', '/packages', { json: packageDocument('Of many') });
    const resources = await createdResources(count);
    for (let start = 0; start < count; start += AT_ONCE) {
      await relate(author, main, resources.slice(start, start + AT_ONCE));
    }
    const [first, last] = [resources[0], resources.at(-1)];
    const before = await anybody.call('GET', `/packages/${main.id}`);
    expect(before.status).toBe(404);

    const published = await author.call('POST', `/packages/${main.id}/draft/actions/publish`, {
      timeoutMs: 120_000,
    });
    expect({ status: published.status, body: published.status === 202 ? '' : published.text }).toEqual({
      status: 202,
      body: '',
    });
    const shown = await Promise.all(
      [first, last].flatMap((one) => (one === undefined ? [] : [anybody.call('GET', `/records/${one.id}`)])),
    );
    expect(shown.map(({ status }) => status)).toEqual(count === 0 ? [] : [200, 200]);
    const { body } = await anybody.call<{ relationship: { resources: unknown[] } }>(
      'GET',
      `/packages/${main.id}`,
    );
    expect(body.relationship.resources).toHaveLength(count);

    const total = async (target: string) => (await anybody.sure<Listing>('GET', target)).hits.total;
    await until(async () => (await total(`/packages/${main.id}/resources?size=1`)) === count, {
      timeoutMs: 120_000,
    });
    await until(async () => (await total(`/packages?q=id:"${main.id}"`)) === 1, { timeoutMs: 120_000 });
  },
  600_000,
);
