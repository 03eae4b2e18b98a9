import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type SharedSystem, sharedSystem } from '@kr/testbed/shared-system';
import type { Entity } from './story/answers.ts';
import { recordDocument } from './story/documents.ts';
import { type HttpClient, httpClient } from './story/http-client.ts';
import { link, packageOfResources, publish } from './story/stories.ts';

let system: SharedSystem;
let author: HttpClient;
let visitor: HttpClient;

beforeAll(async () => {
  system = await sharedSystem();
  author = httpClient(system.baseUrl, (await system.createUser('author')).token);
  visitor = httpClient(system.baseUrl);
});
afterAll(() => system.stop());

/** The present answer for an anonymous reader; read twice, so that the second may be cached. */
async function seen(entity: Entity): Promise<unknown[]> {
  const path = link(entity, 'self');
  const answers = [await visitor.call<Entity>('GET', path), await visitor.call<Entity>('GET', path)];
  return answers.map(({ status, body }) => (status === 200 ? body.metadata['title'] : status));
}

async function change(entity: Entity, document: object): Promise<void> {
  const draft = await author.sure<Entity>('POST', `/records/${entity.id}/draft`);
  await author.sure('PUT', link(draft, 'self'), { json: document });
  await publish(author, draft);
}

describe('a visitor', () => {
  test('sees every publish of a record as soon as it is answered, also when the record becomes restricted', async () => {
    const draft = await author.sure<Entity>('POST', '/records', { json: recordDocument('First') });
    const published = `/records/${draft.id}`;
    expect((await visitor.call('GET', published)).status).toBe(404);
    const entity = await publish(author, draft);
    const first = await seen(entity);
    await change(entity, recordDocument('Second'));
    const second = await seen(entity);
    await change(entity, recordDocument('Third', { access: { record: 'restricted', files: 'restricted' } }));
    expect([first, second, await seen(entity)]).toEqual([
      ['First', 'First'],
      ['Second', 'Second'],
      [403, 403],
    ]);
  });

  test('sees a package and its resources as soon as their publish is answered', async () => {
    const { main, resources } = await packageOfResources(author, 'Together', 2);
    const published = [`/packages/${main.id}`, ...resources.map(({ id }) => `/records/${id}`)];
    const statuses = () =>
      Promise.all(published.map(async (path) => (await visitor.call('GET', path)).status));
    const before = await statuses();
    await publish(author, main);
    expect([before, await statuses()]).toEqual([
      [404, 404, 404],
      [200, 200, 200],
    ]);
  });
});
