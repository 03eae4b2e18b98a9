import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type SharedSystem, sharedSystem } from '@kr/testbed/shared-system';
import type { Entity, Listing } from './story/answers.ts';
import { packageDocument, recordDocument } from './story/documents.ts';
import { type HttpClient, httpClient } from './story/http-client.ts';
import { link, publishedRecord } from './story/stories.ts';

let system: SharedSystem;
let author: HttpClient;

beforeAll(async () => {
  system = await sharedSystem();
  author = httpClient(system.baseUrl, system.token);
});
afterAll(() => system.stop());

const publishFound = (draft: Entity) =>
  author.sure<Entity>('POST', `${link(draft, 'publish')}?wait_for_index=true`);
const idsOf = async (query: string) => {
  const { hits } = await author.sure<Listing>('GET', `/search?allversions=1&q=${encodeURIComponent(query)}`);
  return hits.hits.map(({ id }) => id);
};

async function newVersion(entity: Entity, document: object): Promise<Entity> {
  const draft = await author.sure<Entity>('POST', `${link(entity, 'versions')}`);
  await author.sure('PUT', link(draft, 'self'), { json: document });
  return publishFound(draft);
}

describe('the index follows', () => {
  test('which version of a resource is the latest', async () => {
    const first = await publishedRecord(author, 'Quokka atlas');
    const second = await newVersion(first, recordDocument('Quokka atlas'));
    expect([
      await idsOf('quokka AND versions.is_latest:true'),
      await idsOf('quokka AND versions.is_latest:false'),
    ]).toEqual([[second.id], [first.id]]);
    await system.assertNoDrift();
  });

  test('which version of a package is the latest', async () => {
    const draft = await author.sure<Entity>('POST', '/packages', { json: packageDocument('Numbat') });
    const first = await publishFound(draft);
    const second = await newVersion(first, packageDocument('Numbat'));
    expect([
      await idsOf('numbat AND versions.is_latest:true'),
      await idsOf('numbat AND versions.is_latest:false'),
    ]).toEqual([[second.id], [first.id]]);
    await system.assertNoDrift();
  });

  test('which packages hold a resource that was published before', async () => {
    const resource = await publishedRecord(author, 'Bilby counts');
    const main = await author.sure<Entity>('POST', '/packages', { json: packageDocument('Bilbies') });
    await author.sure('POST', link(main, 'resources'), { json: { resources: [{ id: resource.id }] } });
    await publishFound(main);
    expect(await idsOf(`relationship.packages.id:${main.id}`)).toEqual([resource.id]);
    await system.assertNoDrift();
  });

  test('whether a draft has files, also ones that are pending', async () => {
    const draft = await author.sure<Entity>('POST', '/records', {
      json: { ...recordDocument('Potoroo'), files: { enabled: true } },
    });
    const files = `${link(draft, 'files')}?wait_for_index=true`;
    const statusOf = async () => {
      const { hits } = await author.sure<Listing>(
        'GET',
        '/user/records?q=access.status:open%20AND%20potoroo',
      );
      return hits.total;
    };
    expect(await statusOf()).toBe(0);
    await author.sure('POST', files, { json: [{ key: 'a.csv' }] });
    expect(await statusOf()).toBe(1);
    await system.assertNoDrift();
    await author.sure('DELETE', `${link(draft, 'files')}/a.csv?wait_for_index=true`);
    expect(await statusOf()).toBe(0);
    await system.assertNoDrift();
  });
});
