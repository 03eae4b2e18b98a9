import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import { type SharedSystem, sharedSystem } from '@kr/testbed/shared-system';
import pg from 'pg';
import type { Entity, Listing } from './story/answers.ts';
import { recordDocument } from './story/documents.ts';
import { type HttpClient, httpClient } from './story/http-client.ts';
import { adminCommand } from './story/operator-command.ts';
import { insistentClient } from './story/persistent-client.ts';
import { link, packageOfResources, publish, upload } from './story/stories.ts';

let system: SharedSystem;
let author: HttpClient;
let admin: HttpClient;
let visitor: HttpClient;
beforeAll(async () => {
  system = await sharedSystem();
  author = httpClient(system.baseUrl, system.token);
  admin = httpClient(system.baseUrl, (await system.createUser('root', { admin: true })).token);
  visitor = httpClient(system.baseUrl);
});
afterAll(() => system?.stop());

const REASON = { removal_reason: { id: 'takedown-request' }, note: 'Requested by the authors.' };

async function publishedFile(title: string): Promise<Entity> {
  const draft = await author.sure<Entity>('POST', '/records', {
    json: recordDocument(title, { withFiles: true }),
  });
  await upload(author, draft, 'data.txt', Buffer.from('data'));
  return publish(author, draft);
}

const remove = (entity: Entity, kind = 'records') =>
  admin.call('DELETE', `/${kind}/${entity.id}?wait_for_index=true`, { json: REASON });
const titles = async (client: HttpClient, title: string) =>
  (await client.sure<Listing<Entity>>('GET', `/search?q=${encodeURIComponent(`"${title}"`)}`)).hits.hits.map(
    ({ id }) => id,
  );

describe('a record that an administrator removes', () => {
  test('answers every read with a tombstone, and searches do not find it; a restore brings all of it back', async () => {
    const record = await publishedFile('Withdrawn rivers');
    await until(async () => (await titles(visitor, 'Withdrawn rivers')).length === 1);
    const before = await visitor.sure<Entity>('GET', `/records/${record.id}`);
    expect((await remove(record)).status).toBe(204);

    const targets = [
      '',
      '/files',
      '/files/data.txt',
      '/files/data.txt/content',
      '/files-archive',
      '/versions',
      '/versions/latest',
    ];
    for (const client of [visitor, author, admin]) {
      for (const target of targets) {
        const { status, body } = await client.call<Record<string, unknown>>(
          'GET',
          `/records/${record.id}${target}`,
        );
        expect([target, status, body['code'], body['tombstone']]).toEqual([
          target,
          410,
          'removed',
          {
            removal_reason: { id: 'takedown-request' },
            note: 'Requested by the authors.',
            removed_by: { user: expect.any(String) },
            removal_date: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
            citation_text: 'Moreau, Lise (2026). Withdrawn rivers',
            is_visible: true,
          },
        ]);
      }
      expect(await titles(client, 'Withdrawn rivers')).toEqual([]);
    }
    expect((await author.call('POST', `/records/${record.id}/draft`)).status).toBe(410);
    expect((await author.call('POST', `/records/${record.id}/versions`)).status).toBe(410);
    expect((await remove(record)).status).toBe(410);
    const suggested = await visitor.sure<{ suggestions?: unknown }>('GET', '/search/suggest?q=Withdrawn');
    expect(JSON.stringify(suggested)).not.toContain('Withdrawn');

    const removed = await admin.sure<Listing<{ id: string; files_deleted: null }>>('GET', '/records/removed');
    expect(removed.hits.hits[0]).toMatchObject({ id: record.id, files_deleted: null });

    expect((await author.call('POST', `/records/${record.id}/restore`)).status).toBe(403);
    const restored = await admin.call('POST', `/records/${record.id}/restore?wait_for_index=true`);
    expect(restored.status).toBe(200);
    const after = await visitor.sure<Entity>('GET', `/records/${record.id}`);
    expect({ ...after, revision_id: 0 }).toEqual({ ...before, revision_id: 0 });
    expect((await visitor.call('GET', `/records/${record.id}/files/data.txt/content`)).text).toBe('data');
    expect(await titles(visitor, 'Withdrawn rivers')).toEqual([record.id]);
    expect((await admin.call('POST', `/records/${record.id}/restore`)).status).toBe(404);
    const trail = await author.sure<Listing<{ action: string }>>('GET', `/records/${record.id}/audit-log`);
    const actions = trail.hits.hits
      .map(({ action }) => action)
      .filter((action) => action.startsWith('entity.'));
    expect(actions.sort()).toEqual(['entity.remove', 'entity.restore']);
  });

  test('leaves its other versions, of which the one before becomes the latest', async () => {
    const first = await publishedFile('Versioned lakes');
    const draft = await author.sure<Entity>('POST', `/records/${first.id}/versions`);
    await author.sure('PUT', link(draft, 'self'), { json: recordDocument('Versioned lakes') });
    const second = await publish(author, draft);
    expect((await remove(second)).status).toBe(204);
    expect((await visitor.sure<Entity>('GET', `/records/${first.id}/versions/latest`)).id).toBe(first.id);
    const { hits } = await visitor.sure<Listing<Entity>>('GET', `/records/${first.id}/versions`);
    expect(hits.hits.map(({ id }) => id)).toEqual([first.id]);
    expect(await titles(visitor, 'Versioned lakes')).toEqual([first.id]);
  });

  test('loses its files after the retention, and cannot be restored then', async () => {
    const record = await publishedFile('Purged seas');
    await remove(record);
    const records = new pg.Client(system.databaseUrls.records);
    const files = new pg.Client(system.databaseUrls.files);
    await Promise.all([records.connect(), files.connect()]);
    try {
      const entries = async () =>
        Number(
          (await files.query('select count(*) from entry where entity_id = $1', [record.id])).rows[0].count,
        );
      expect(await entries()).toBe(1);
      await records.query(`update version set removed_at = removed_at - interval '31 days' where id = $1`, [
        record.id,
      ]);
      // The service checks at its start, and every hour.
      system.kill('records', 'SIGKILL');
      await until(async () => (await entries()) === 0);
    } finally {
      await Promise.all([records.end(), files.end()]);
    }
    const patient = insistentClient(admin);
    await patient.sure('GET', '/records/removed');
    const restored = await admin.call<{ code: string }>('POST', `/records/${record.id}/restore`);
    expect([restored.status, restored.body.code]).toEqual([409, 'files_purged']);
    expect((await visitor.call('GET', `/records/${record.id}`)).status).toBe(410);
  });
});

test('a package stays without its removed resource, and resources without their removed package', async () => {
  const { main, resources } = await packageOfResources(author, 'Group', 2);
  await publish(author, main);
  const [gone, kept] = resources as [Entity, Entity];
  await remove(gone);
  const listed = await visitor.sure<Listing<Entity>>('GET', `/packages/${main.id}/resources`);
  expect(listed.hits.hits.map(({ id }) => id)).toEqual([kept.id]);
  expect((await remove(main, 'packages')).status).toBe(204);
  expect((await visitor.call('GET', `/packages/${main.id}`)).status).toBe(410);
  expect((await visitor.call('GET', `/packages/${main.id}/resources`)).status).toBe(410);
  expect((await visitor.call('GET', `/records/${kept.id}`)).status).toBe(200);
});

test('a removal needs a reason that there is, and an administrator', async () => {
  const record = await publishedFile('Staying ponds');
  const cases = [
    [author, { json: REASON }, 403],
    [visitor, { json: REASON }, 401],
    [admin, { json: { removal_reason: { id: 'because' } } }, 400],
    [admin, { json: { ...REASON, note: 'x'.repeat(1_001) } }, 400],
    [admin, { json: { ...REASON, note: 7 } }, 400],
    [admin, {}, 400],
  ] as const;
  for (const [client, sent, status] of cases)
    expect((await client.call('DELETE', `/records/${record.id}`, sent)).status).toBe(status);
  expect((await visitor.call('GET', `/records/${record.id}`)).status).toBe(200);
});

test('an edit draft of a removed record is not published', async () => {
  const record = await publishedFile('Edited bays');
  const draft = await author.sure<Entity>('POST', `/records/${record.id}/draft`);
  await remove(record);
  const { status, body } = await author.call<{ errors: { messages: string[] }[] }>(
    'POST',
    link(draft, 'publish'),
  );
  expect([status, body.errors?.[0]?.messages]).toEqual([400, ['The record has been deleted.']]);
});

test('the index agrees with the services about what is removed', async () => {
  const drift = await until(async () => {
    const told = await adminCommand(system, 'search', 'drift', '--json');
    return told.out === '' ? undefined : told;
  });
  expect({ code: drift.code, out: drift.code === 0 ? '' : drift.out }).toEqual({ code: 0, out: '' });
});
