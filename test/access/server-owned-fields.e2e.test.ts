import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type SharedSystem, sharedSystem } from '@kr/testbed/shared-system';
import type { AccessLink, Entity, Failed, FilesListing } from '../e2e/story/answers.ts';
import { packageDocument, recordDocument } from '../e2e/story/documents.ts';
import { type HttpClient, httpClient } from '../e2e/story/http-client.ts';
import { lostParts } from '../e2e/story/lost-parts.ts';
import { link, publish } from '../e2e/story/stories.ts';

const KINDS = [
  { collection: 'records', document: recordDocument },
  { collection: 'packages', document: packageDocument },
] as const;
type Kind = (typeof KINDS)[number];

let system: SharedSystem;
let owner: HttpClient;
let stranger: HttpClient;
let strangerId: number;
/** Somebody else's. */
let foreign: Record<Kind['collection'], Entity>;
beforeAll(async () => {
  system = await sharedSystem();
  owner = httpClient(system.baseUrl, system.token);
  stranger = httpClient(system.baseUrl, (await system.createUser('stranger')).token);
  strangerId = (await stranger.sure<{ id: number }>('GET', '/user')).id;
  foreign = {
    records: await stranger.sure<Entity>('POST', '/records', { json: recordDocument('Foreign') }),
    packages: await stranger.sure<Entity>('POST', '/packages', { json: packageDocument('Foreign') }),
  };
});
afterAll(() => system?.stop());

const LONG_AGO = '2001-01-01T00:00:00.000000+00:00';

/** Bodies' parts that only the system may set, each with a value that would do its sender good. */
function forged({ collection }: Kind): Record<string, object> {
  const { id, parent } = foreign[collection];
  const other = foreign[collection === 'records' ? 'packages' : 'records'];
  const owned_by = [{ user: strangerId }];
  return {
    id: { id },
    created: { created: LONG_AGO },
    updated: { updated: LONG_AGO },
    expires_at: { expires_at: LONG_AGO },
    revision_id: { revision_id: 4_711 },
    'parent.id': { parent: { id: parent.id } },
    'parent.access': {
      parent: { access: { owned_by, links: [{ id: 'x' }], grants: [{ subject: strangerId }] } },
    },
    'parent.relationship': { parent: { relationship: { managed_by: { id: other.parent.id } } } },
    'parent.communities': {
      parent: { communities: { ids: ['x'], default: 'x' }, type: 'other', review: {} },
    },
    owner: { owner: strangerId, owner_id: strangerId, owned_by, owners: [strangerId] },
    is_published: { is_published: true, is_draft: false },
    status: { status: 'published' },
    versions: { versions: { index: 9, is_latest: true, is_latest_draft: false } },
    links: { links: { self: 'https://elsewhere.example/', files: 'https://elsewhere.example/' } },
    relationship: { relationship: { packages: [{ id: other.id }], resources: [{ id: other.id }] } },
    assistance_requests: { assistance_requests: [{ id: 'x' }] },
    errors: { errors: [{ field: 'x', messages: ['y'] }] },
    'pids.oai': { pids: { oai: { identifier: `oai:elsewhere:${id}`, provider: 'oai' } } },
    'access.status': { access: { record: 'public', files: 'public', status: 'restricted' } },
    'access.owned_by': { access: { record: 'public', files: 'public', owned_by, grants: [], links: [] } },
    'files totals': {
      files: { enabled: false, count: 3, total_bytes: 5, entries: { a: {} }, bucket_id: 'x' },
    },
    'locks and marks': { locked_by: 'x', locked: true, deleted: true, tombstone: {}, deletion_status: 'D' },
    columns: { owner_id: strangerId, parent_id: parent.id, version_index: 7, managed_by: other.parent.id },
    'snake and camel': { revisionId: 4_711, isPublished: true, ownerId: strangerId, parentId: parent.id },
  };
}

/** All of an entity but its name, its instants, its revision and what was wrong with the body. */
function contentOf(entity: Entity): unknown {
  const { id, parent } = entity;
  const { created: _, updated: _1, expires_at: _2, revision_id: _3, errors: _4, ...rest } = entity;
  return JSON.parse(JSON.stringify(rest).replaceAll(id, 'its id').replaceAll(parent.id, 'its parent'));
}

/** Differences from a draft that was saved without the forged part. */
async function stored(kind: Kind, draft: Entity, plain: Entity): Promise<object[]> {
  const now = await owner.sure<Entity>('GET', link(draft, 'self'));
  const seen = await stranger.call('GET', `/${kind.collection}/${draft.id}/draft`);
  const wrong: object[] = [];
  const [content, wanted] = [contentOf(now), contentOf(plain)];
  const paths = [...lostParts(wanted, content), ...lostParts(content, wanted)];
  if (paths.length > 0) wrong.push({ paths });
  const instants = [now.created, now.updated, now.expires_at ?? ''].filter((at) => at.startsWith('2001'));
  if (instants.length > 0 || now.revision_id > 1_000) wrong.push({ instants, revision: now.revision_id });
  if (seen.status !== 403) wrong.push({ stranger: seen.status });
  return wrong;
}

describe.each(KINDS)('a body of $collection', (kind) => {
  const { collection, document } = kind;

  test('creates nothing with values that the author cannot set', async () => {
    const made = await owner.sure<Entity>('POST', `/${collection}`, { json: document('Plain') });
    const plain = await owner.sure<Entity>('GET', link(made, 'self'));
    const wrong: object[] = [];
    for (const [field, part] of Object.entries(forged(kind))) {
      const json = { ...document('Plain'), ...part };
      const { status, body } = await owner.call<Entity>('POST', `/${collection}`, { json });
      if (status === 400) continue;
      const found = status === 201 ? await stored(kind, body, plain) : [];
      if (status !== 201 || found.length > 0) wrong.push({ field, status, found });
    }
    expect(wrong).toEqual([]);
  });

  test.each([
    ['a first draft', async (entity: Entity) => entity],
    [
      'the draft of an edit',
      async (entity: Entity) => owner.sure<Entity>('POST', link(await publish(owner, entity), 'draft')),
    ],
    [
      'the draft of a next version',
      async (entity: Entity) => owner.sure<Entity>('POST', link(await publish(owner, entity), 'versions')),
    ],
  ])('ignores values that the author cannot set: %s', async (_what, open) => {
    const entity = await owner.sure<Entity>('POST', `/${collection}`, { json: document('Plain') });
    const { links } = await open(entity);
    const plain = await owner.sure<Entity>('PUT', link({ links }, 'self'), { json: document('Plain') });
    const wrong: object[] = [];
    for (const [field, part] of Object.entries(forged(kind))) {
      const json = { ...document('Plain'), ...part };
      const { status } = await owner.call('PUT', link({ links }, 'self'), { json });
      const found = await stored(kind, plain, plain);
      if (![200, 400].includes(status) || found.length > 0) wrong.push({ field, status, found });
    }
    expect(wrong).toEqual([]);
  });

  test('cannot claim an identifier that this system assigns', async () => {
    const draft = await owner.sure<Entity>('POST', `/${collection}`, { json: document('Claims') });
    const reserved = await stranger.sure<Entity>(
      'POST',
      `/${collection}/${foreign[collection].id}/draft/pids/doi`,
    );
    const doi = reserved.pids['doi'];
    const claims = [doi, { ...doi, provider: 'external' }].map((claimed) => ({ doi: claimed }));
    const refused: number[] = [];
    for (const pids of claims) {
      await owner.call('PUT', link(draft, 'self'), { json: { ...document('Claims'), pids } });
      refused.push((await owner.call('POST', link(draft, 'publish'))).status);
    }
    const own = { doi: { identifier: `10.1234/${draft.id}`, provider: 'external' } };
    const pids = { ...own, oai: { identifier: 'oai:elsewhere:x', provider: 'oai' } };
    await owner.sure('PUT', link(draft, 'self'), { json: { ...document('Claims'), pids } });
    const published = await publish(owner, draft);
    expect({ refused, pids: published.pids }).toEqual({
      refused: [400, 400],
      pids: {
        ...own,
        oai: {
          provider: 'oai',
          identifier: expect.stringMatching(new RegExp(`^oai:(?!elsewhere).*:${draft.id}$`)),
        },
      },
    });
  });

  test('of links, contexts and tokens ignores values of the system', async () => {
    const draft = await owner.sure<Entity>('POST', `/${collection}`, { json: document('Shared') });
    const links = link(draft, 'access_links');
    const made = await owner.sure<AccessLink>('POST', links, { json: { permission: 'view' } });
    const parts = [
      { id: made.id },
      { token: made.token },
      { created_at: '2001-01-01T00:00:00' },
      { parent_id: foreign[collection].parent.id },
      { nonce: 'x' },
      { created_by: strangerId },
    ];
    const tokenParts = [
      { id: 'x' },
      { user_id: strangerId },
      { token: 'x' },
      { hash: 'x' },
      { is_admin: true },
    ];
    const answers = [
      ...(await Promise.all(
        parts.flatMap((part) => [
          owner.call<Failed>('POST', links, { json: { permission: 'edit', ...part } }),
          owner.call<Failed>('PATCH', `${links}/${made.id}`, { json: { permission: 'edit', ...part } }),
        ]),
      )),
      ...(await Promise.all(
        tokenParts.map((part) =>
          owner.call<Failed>('POST', '/user/tokens', { json: { name: 'x', ...part } }),
        ),
      )),
    ];
    const { hits } = await owner.sure<{ hits: { hits: AccessLink[] } }>('GET', links);
    expect({ statuses: [...new Set(answers.map(({ status }) => status))], links: hits.hits }).toEqual({
      statuses: [400],
      links: [made],
    });
  });

  test('of files sets the name of a file, never its existence', async () => {
    const json = document('Files', { withFiles: true });
    const draft = await owner.sure<Entity>('POST', `/${collection}`, { json });
    const claims = {
      status: 'completed',
      size: 5,
      checksum: 'md5:00000000000000000000000000000000',
      file_id: '0e8f6c5e-1c80-4a34-a2a3-4d5a12b3c4d5',
      bucket_id: '0e8f6c5e-1c80-4a34-a2a3-4d5a12b3c4d5',
      version_id: '0e8f6c5e-1c80-4a34-a2a3-4d5a12b3c4d5',
      mimetype: 'text/html',
      storage_class: 'L',
      created: LONG_AGO,
      links: { content: 'https://elsewhere.example/' },
    };
    const files = link(draft, 'files');
    await owner.sure('POST', files, { json: [{ key: 'a.txt', ...claims }] });
    const metadata = await owner.call('PUT', `${files}/a.txt`, { json: claims });
    const { entries } = await owner.sure<FilesListing>('GET', files);
    const published = await owner.call('POST', link(draft, 'publish'));
    const content = await owner.call('GET', `${files}/a.txt/content`);
    const [{ links, created, updated, ...entry } = { links: {}, created: '', updated: '' }] = entries;
    expect({
      metadata: metadata.status,
      entry: { ...entry, metadata: undefined },
      elsewhere: JSON.stringify(links).includes('elsewhere'),
      long: [created, updated].some((at) => at.startsWith('2001')),
      published: published.status,
      content: content.status,
    }).toEqual({
      metadata: 200,
      entry: { key: 'a.txt', status: 'pending', metadata: undefined },
      elsewhere: false,
      long: false,
      published: 400,
      content: 404,
    });
  });
});
