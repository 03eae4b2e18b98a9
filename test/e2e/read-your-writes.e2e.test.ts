import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import { startSystem, type TestSystem, testSettings } from '@kr/testbed/system';
import { Client } from 'pg';
import type { Entity, FilesListing, Listing } from './story/answers.ts';
import { packageDocument, recordDocument } from './story/documents.ts';
import { type HttpClient, httpClient } from './story/http-client.ts';
import { useSearchTables } from './story/search-tables.ts';
import { link, packageOfResources, publish, upload } from './story/stories.ts';

let system: TestSystem;
let index: Client;
beforeAll(async () => {
  system = await startSystem({ settings: { waitForIndexMs: 60_000 } });
  index = new Client({ connectionString: system.databaseUrls.search });
  await index.connect();
});
afterAll(async () => {
  await index?.end();
  await system?.stop();
});

let authors = 0;
async function newAuthor(): Promise<HttpClient> {
  authors += 1;
  return httpClient(system.baseUrl, (await system.createUser(`author-${authors}`)).token);
}

interface Seen {
  total: number;
  titles: unknown[];
  states: string[];
}

async function seen(client: HttpClient, target: string): Promise<Seen & { types: Record<string, number> }> {
  const { hits, aggregations } = await client.sure<Listing>('GET', target);
  const types = aggregations['resource_type'] as
    | { buckets: { key: string; doc_count: number }[] }
    | undefined;
  return {
    total: hits.total,
    titles: hits.hits.map(({ metadata }) => metadata['title']),
    states: hits.hits.map(({ is_draft }) => (is_draft ? 'draft' : 'published')),
    types: Object.fromEntries((types?.buckets ?? []).map(({ key, doc_count }) => [key, doc_count])),
  };
}

describe('who lists what they have just written', () => {
  test('finds it created, edited, published and deleted, 60 times', async () => {
    const author = await newAuthor();
    const mine = () => seen(author, '/user/records?size=1000');
    let published = 0;
    for (let round = 1; round <= 60; round += 1) {
      const draft = await author.sure<Entity>('POST', '/records', { json: recordDocument(`First ${round}`) });
      const created = await mine();
      expect({ total: created.total, newest: created.titles[0], state: created.states[0] }).toEqual({
        total: published + 1,
        newest: `First ${round}`,
        state: 'draft',
      });
      expect(created.types).toEqual({ dataset: published + 1 });

      const json = recordDocument(`Second ${round}`, { metadata: { resource_type: { id: 'software' } } });
      await author.sure('PUT', `/records/${draft.id}/draft`, { json });
      const edited = await mine();
      expect({ total: edited.total, newest: edited.titles[0] }).toEqual({
        total: published + 1,
        newest: `Second ${round}`,
      });
      expect(edited.titles).not.toContain(`First ${round}`);
      expect(edited.types).toEqual({ software: 1, ...(published > 0 && { dataset: published }) });

      if (round % 6 === 0) {
        const last = recordDocument(`Published ${round}`);
        await author.sure('PUT', `/records/${draft.id}/draft`, { json: last });
        await publish(author, draft);
        published += 1;
        const shown = await mine();
        expect({
          total: shown.total,
          copies: shown.titles.filter((title) => title === `Published ${round}`).length,
          states: [...new Set(shown.states)],
        }).toEqual({ total: published, copies: 1, states: ['published'] });
      } else {
        await author.sure('DELETE', `/records/${draft.id}/draft`);
        const left = await mine();
        expect({ total: left.total, isGone: !left.titles.includes(`Second ${round}`) }).toEqual({
          total: published,
          isGone: true,
        });
      }
    }
  });

  test('finds a draft by the state of its files, as soon as they are added or deleted', async () => {
    const author = await newAuthor();
    const json = recordDocument('With files', { withFiles: true });
    const draft = await author.sure<Entity>('POST', '/records', { json });
    const statuses: string[] = [];
    const look = async () => {
      const { hits } = await author.sure<Listing>('GET', '/user/records');
      statuses.push(...hits.hits.map(({ access }) => access.status));
    };
    for (let round = 0; round < 5; round += 1) {
      const file = await upload(author, draft, 'a.txt', Buffer.from('a'));
      await look();
      await author.sure('DELETE', link(file, 'self'));
      await look();
    }
    expect(statuses).toEqual(Array.from({ length: 5 }, () => ['open', 'metadata-only']).flat());
  });

  test('finds everywhere what a change has waited for, also as a stranger', async () => {
    const author = await newAuthor();
    const stranger = httpClient(system.baseUrl);
    const found = async (q: string) =>
      (await stranger.sure<Listing>('GET', `/search?q=${encodeURIComponent(q)}`)).hits.total;
    const waiting = (method: string, url: string, json?: unknown) =>
      author.call(method, `${url}?wait_for_index=true`, json === undefined ? {} : { json });
    for (let round = 1; round <= 5; round += 1) {
      const { main, resources } = await packageOfResources(author, `Awaited ${round}`, 2);
      const published = await waiting('POST', link(main, 'publish'));
      const q = [main, ...resources].map(({ id }) => `id:"${id}"`).join(' OR ');
      expect([published.status, published.headers.get('knowledge-index'), await found(q)]).toEqual([
        202,
        'found',
        3,
      ]);
    }
    const draft = await author.sure<Entity>('POST', '/records', {
      json: recordDocument('Awaited with files', { withFiles: true }),
    });
    const { entries } = await author.sure<FilesListing>('POST', link(draft, 'files'), {
      json: [{ key: 'a.txt' }],
    });
    const [entry] = entries;
    if (entry === undefined) throw new Error('no file');
    await author.sure('PUT', link(entry, 'content'), { bytes: Buffer.from('a') });
    const committed = await waiting('POST', link(entry, 'commit'));
    await useSearchTables(index);
    const { rows } = await index.query(
      `select unnest(s.entries) as facet from index_document d
       join index_facet_set s on s.id::text = any (string_to_array(d.facet_sets, ' ')) where d.id = $1`,
      [draft.id],
    );
    expect(committed.headers.get('knowledge-index')).toBe('found');
    expect(rows).toContainEqual({ facet: 'access_status=open' });
    const gone = await waiting('DELETE', link(draft, 'self'));
    expect([gone.status, gone.headers.get('knowledge-index')]).toEqual([204, 'found']);
    const { rowCount } = await index.query(
      'select from index_document where id = $1 and deleted_at is null',
      [draft.id],
    );
    expect(rowCount).toBe(0);
  });

  test('finds a package and its resources published together, each once', async () => {
    const author = await newAuthor();
    for (let round = 1; round <= 20; round += 1) {
      const { main } = await packageOfResources(author, `Package ${round}`, 2);
      await publish(author, main);
      // Records first: a list of packages would wait for the event that also publishes the records.
      const records = await seen(author, '/user/records?size=1000');
      const packages = await seen(author, '/user/packages?size=1000');
      const inside = await seen(author, `/packages/${main.id}/resources`);
      expect({
        packages: [packages.total, new Set(packages.states)],
        records: [records.total, new Set(records.states)],
        inside: [inside.total, inside.states],
      }).toEqual({
        packages: [round, new Set(['published'])],
        records: [2 * round, new Set(['published'])],
        inside: [2, ['published', 'published']],
      });
    }
  });

  test('finds resources in the packages that they were added to or removed from', async () => {
    const author = await newAuthor();
    const main = await author.sure<Entity>('POST', '/packages', { json: packageDocument('Package') });
    const inContext = () => seen(author, link(main, 'context_resources'));
    const inDraft = () => seen(author, `/packages/${main.id}/draft/resources`);
    for (let round = 1; round <= 30; round += 1) {
      const json = recordDocument(`Resource ${round}`);
      const { id } = await author.sure<Entity>('POST', '/records', { json });
      await author.sure('POST', link(main, 'context_associate'), { json: { records: [{ id }] } });
      expect(await inContext()).toMatchObject({ total: 1, titles: [`Resource ${round}`] });
      await author.sure('POST', `/packages/${main.id}/draft/resources`, { json: { resources: [{ id }] } });
      expect(await inDraft()).toMatchObject({ total: 1, titles: [`Resource ${round}`] });

      const renamed = recordDocument(`Renamed ${round}`);
      await author.sure('PUT', `/records/${id}/draft`, { json: renamed });
      expect(await inDraft()).toMatchObject({ total: 1, titles: [`Renamed ${round}`] });
      expect(await inContext()).toMatchObject({ total: 1, titles: [`Renamed ${round}`] });

      await author.sure('DELETE', `/packages/${main.id}/draft/resources`, { json: { resources: [{ id }] } });
      expect(await inDraft()).toMatchObject({ total: 0, titles: [] });
      await author.sure('POST', link(main, 'context_dissociate'), { json: { records: [{ id }] } });
      expect(await inContext()).toMatchObject({ total: 0, titles: [] });
      await author.sure('DELETE', `/records/${id}/draft`);
    }
  });

  test('is answered while events cannot travel, and finds everything afterwards', async () => {
    const author = await newAuthor();
    // Concurrent listings must be answered in time.
    await system.relaunch('search', testSettings({ ownWritesWaitMs: 1_000, rpcDeadlineMs: 30_000 }));
    const nats = system.pid('nats');
    if (nats === undefined) throw new Error('the bus is not running');
    const titled = async (title: string) => {
      await author.sure('POST', '/records', { json: recordDocument(title) });
      await seen(author, '/user/records');
    };
    process.kill(nats, 'SIGSTOP');
    try {
      await titled('While it is stopped');
    } finally {
      process.kill(nats, 'SIGCONT');
    }
    system.kill('nats', 'SIGKILL');
    await titled('While it is dead');

    await until(async () => (await seen(author, '/user/records')).total === 2);
    await author.sure('POST', '/records', { json: recordDocument('After') });
    await until(async () => (await seen(author, '/user/records')).total === 3);
    await system.relaunch('search');
    for (let count = 4; count <= 13; count += 1) {
      await author.sure('POST', '/records', { json: recordDocument(`After ${count}`) });
      expect((await seen(author, '/user/records')).total).toBe(count);
    }
  });
});
