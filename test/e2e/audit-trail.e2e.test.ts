import { randomUUID } from 'node:crypto';
import { dirname } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type SharedSystem, sharedSystem } from '@kr/testbed/shared-system';
import { patientSettings } from '@kr/testbed/system';
import pg from 'pg';
import { run } from '../../clients/kr/src/run.ts';
import { createTerminal } from '../../clients/kr/src/terminal/terminal.ts';
import type { AccessLink, Entity, Failed, Listing } from './story/answers.ts';
import { packageDocument, recordDocument } from './story/documents.ts';
import { type HttpClient, httpClient } from './story/http-client.ts';
import { insistentClient } from './story/persistent-client.ts';
import { link, packageOfResources, publish, upload } from './story/stories.ts';

interface AuditEntry {
  id: string;
  created: string;
  action: string;
  resource: { type: string; id: string };
  user: { id: string } | null;
  access_links: { id: string }[];
  service: { id: string } | null;
  token: { id: string } | null;
  request_id: string;
  trace_id: string | null;
  metadata: Record<string, unknown>;
}

type Kind = 'records' | 'packages';

/** The services that keep a part of the trail. */
const KEEPERS = ['records', 'packages', 'files', 'access-links'] as const;

let system: SharedSystem;
let author: HttpClient;
let stranger: HttpClient;
let admin: HttpClient;
let anonymous: HttpClient;
/** The actors of the entries. */
let authorId: string;
let tokenId: string;

beforeAll(async () => {
  system = await sharedSystem();
  author = httpClient(system.baseUrl, system.token);
  stranger = httpClient(system.baseUrl, (await system.createUser('stranger')).token);
  admin = httpClient(system.baseUrl, (await system.createUser('operator', { admin: true })).token);
  anonymous = httpClient(system.baseUrl);
  authorId = String((await author.sure<{ id: number }>('GET', '/user')).id);
  const tokens = await author.sure<Listing<{ id: string }>>('GET', '/user/tokens');
  tokenId = tokens.hits.hits[0]?.id ?? '';
});
afterAll(() => system?.stop());

const target = (kind: Kind, { id }: { id: string }) => `/${kind}/${id}/audit-log`;

async function trailOf(kind: Kind, entity: { id: string }, by = author): Promise<AuditEntry[]> {
  const { hits } = await by.sure<Listing<AuditEntry>>('GET', `${target(kind, entity)}?size=100`);
  expect(hits.hits).toHaveLength(hits.total);
  return hits.hits;
}

/** Each action with its actor, the oldest first; entries of one millisecond are unordered. */
const told = (trail: readonly AuditEntry[]) =>
  trail.map((entry) => `${entry.action} by ${actorLabel(entry)}`).toReversed();

function actorLabel({ user, access_links: links, service }: AuditEntry): string {
  if (user !== null) return user.id === authorId ? 'author' : `user ${user.id}`;
  return service === null ? links.map(() => 'link').join('+') : service.id;
}

/** A second request with the same key has no effect. */
const keyed = () => ({ headers: { 'idempotency-key': randomUUID() } });

const share = (entity: Entity, permission: string) =>
  author.sure<AccessLink>('POST', link(entity, 'access_links'), { json: { permission } });

describe('the trail of a resource', () => {
  test('has each action once: its actor, the version, and the details', async () => {
    const json = recordDocument('Everything', { withFiles: true });
    const key = keyed();
    const draft = await author.sure<Entity>('POST', '/records', { json, ...key });
    expect((await author.sure<Entity>('POST', '/records', { json, ...key })).id).toBe(draft.id);
    const shared = await share(draft, 'edit');
    const one = `${link(draft, 'access_links')}/${shared.id}`;

    const holder = httpClient(system.baseUrl);
    const withLink = { headers: { authorization: `AccessLink ${shared.token}` } };
    await holder.sure('PUT', link(draft, 'self'), { json, ...withLink });
    await upload(author, draft, 'a.txt', Buffer.from('a'));
    await upload(author, draft, 'b.txt', Buffer.from('b'));
    await author.sure('POST', `/records/${draft.id}/draft/files/a.txt/commit`);
    await author.sure('PUT', `/records/${draft.id}/draft/files/a.txt`, { json: { note: 'first' } });
    await holder.sure('DELETE', `/records/${draft.id}/draft/files/b.txt`, withLink);
    await author.sure('POST', `/records/${draft.id}/draft/pids/doi`);
    await author.sure('DELETE', `/records/${draft.id}/draft/pids/doi`);
    await author.sure('PATCH', one, { json: { permission: 'preview' } });
    await author.sure('DELETE', one);
    await publish(author, draft);
    await publish(author, draft);
    await author.sure('POST', link(draft, 'self'));
    await author.sure('DELETE', link(draft, 'self'));
    const next = await author.sure<Entity>('POST', link(draft, 'versions'));
    await author.sure('POST', link(draft, 'versions'));
    await author.sure('POST', `/records/${next.id}/draft/actions/files-import`);

    const trail = await trailOf('records', next);
    expect(told(trail).sort()).toEqual(
      [
        'draft.create by author',
        'link.create by author',
        'draft.update by link',
        'file.init by author',
        'file.commit by author',
        'file.init by author',
        'file.commit by author',
        'file.update by author',
        'file.delete by link',
        'pid.reserve by author',
        'pid.discard by author',
        'link.update by author',
        'link.revoke by author',
        'record.publish by author',
        'draft.edit by author',
        'draft.delete by author',
        'draft.new_version by author',
        'file.import by author',
      ].sort(),
    );
    expect(trail.map(({ created }) => created)).toEqual(
      trail
        .map(({ created }) => created)
        .sort()
        .reverse(),
    );

    const named = (action: string) => trail.find((entry) => entry.action === action);
    expect(named('record.publish')).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      created: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$/),
      action: 'record.publish',
      resource: { type: 'record', id: draft.id },
      user: { id: authorId },
      access_links: [],
      service: null,
      token: { id: tokenId },
      request_id: expect.stringMatching(/./),
      trace_id: null,
      metadata: { publication: expect.stringMatching(/^[0-9a-f-]{36}$/), revision: expect.any(Number) },
    });
    expect(named('draft.update')).toMatchObject({
      user: null,
      access_links: [{ id: shared.id }],
      token: null,
    });
    expect(named('file.delete')?.metadata).toEqual({ key: 'b.txt' });
    expect(named('file.import')).toMatchObject({
      resource: { id: next.id },
      metadata: { key: 'a.txt', from: draft.id },
    });
    expect(named('pid.reserve')?.metadata).toMatchObject({ scheme: 'doi' });
    expect(JSON.stringify(trail)).not.toContain(shared.token);
    expect(await trailOf('records', draft)).toEqual(trail);
  });

  test('has no entry for refused requests', async () => {
    const draft = await author.sure<Entity>('POST', '/records', {
      json: recordDocument('Refusals', { withFiles: true }),
    });
    const self = `/records/${draft.id}/draft`;
    await author.sure('POST', `${self}/files`, { json: [{ key: 'pending' }] });
    const refused = [
      await stranger.call('PUT', self, { json: recordDocument('Theirs') }),
      await author.call('PUT', self, { json: recordDocument('Late'), headers: { 'if-match': '"99"' } }),
      await author.call('POST', `${self}/actions/publish`),
      await author.call('POST', `${self}/files`, { json: [{ key: 'pending' }] }),
      await author.call('POST', `${self}/files/pending/commit`),
      await author.call('DELETE', `${self}/files/nothing`),
      await author.call('DELETE', `${self}/pids/doi`),
      await author.call('POST', `/records/${draft.id}/access/links`, { json: { permission: 'all' } }),
      await stranger.call('POST', `/records/${draft.id}/access/links`, { json: { permission: 'view' } }),
      await author.call('DELETE', `/records/${draft.id}/access/links/${randomUUID()}`),
    ];
    expect(refused.filter(({ status }) => status < 400)).toEqual([]);
    expect(told(await trailOf('records', draft)).sort()).toEqual([
      'draft.create by author',
      'file.init by author',
    ]);
  });

  test('is shown in pages of at most 100, which together are all of it', async () => {
    const draft = await author.sure<Entity>('POST', '/records', {
      json: recordDocument('Pages', { withFiles: true }),
    });
    for (const key of ['one', 'two', 'three']) {
      await author.sure('POST', link(draft, 'files'), { json: [{ key }] });
      await author.sure('PUT', link(draft, 'self'), { json: recordDocument(key, { withFiles: true }) });
    }
    const all = await trailOf('records', draft);
    expect(all).toHaveLength(7);
    const pages: AuditEntry[] = [];
    for (let next: string | undefined = `${target('records', draft)}?size=2`; next !== undefined; ) {
      const { hits, links }: Listing<AuditEntry> = await author.sure('GET', next);
      expect(hits.total).toBe(7);
      pages.push(...hits.hits);
      next = links['next'];
    }
    expect(pages).toEqual(all);
    const tooLarge = await author.call<Failed>('GET', `${target('records', draft)}?size=101`);
    expect([tooLarge.status, tooLarge.body.errors]).toEqual([
      400,
      [{ field: 'size', messages: ['Page size cannot be greater than 100.'] }],
    ]);
  });
});

/** The output of `kr audit-log`. */
async function kr(id: string): Promise<{ code: number; out: string; err: string }> {
  const said = { out: '', err: '' };
  const into = (name: keyof typeof said) => ({
    write: (text: string) => {
      said[name] += text;
    },
  });
  const code = await run(['audit-log', id, '--base-url', system.baseUrl, '--token', system.token], {
    terminal: createTerminal(into('out'), into('err')),
    env: {},
    cwd: dirname(system.logDir),
  });
  return { code, ...said };
}

test.each([
  ['records', recordDocument],
  ['packages', packageDocument],
] as const)('kr prints that of %s, also of deleted ones', async (kind, document) => {
  const draft = await author.sure<Entity>('POST', `/${kind}`, { json: document('Printed') });
  await author.sure('DELETE', link(draft, 'self'));
  const { code, out, err } = await kr(draft.id);
  expect({ code, err, lines: out.trim().split('\n').length }).toEqual({
    code: 0,
    err: '2 of 2 entries\n',
    lines: 3,
  });
  expect(out).toMatch(new RegExp(`draft\\.delete +${draft.id} +user ${authorId} +\\{`));
});

describe('the trail of a package', () => {
  test('lists the package’s resources, and theirs list it', async () => {
    const { main, resources } = await packageOfResources(author, 'A package', 2);
    const [kept, left] = resources as [Entity, Entity];
    const packageTarget = `/packages/${main.id}`;
    await author.sure('PUT', `${packageTarget}/context`, { json: { access: { record_policy: 'closed' } } });
    await author.sure('DELETE', `${packageTarget}/draft/resources`, {
      json: { resources: [{ id: left.id }] },
    });
    await author.sure('POST', `${packageTarget}/context/actions/dissociate`, {
      json: { records: [{ id: left.id }] },
    });
    const key = keyed();
    await author.sure('POST', link(main, 'publish'), key);
    await author.sure('POST', link(main, 'publish'), key);
    await author.sure('POST', link(main, 'publish'));

    const ofPackage = await trailOf('packages', main);
    expect(told(ofPackage).sort()).toEqual(
      [
        'draft.create by author',
        'context.associate by author',
        'resources.add by author',
        'context.update by author',
        'resources.remove by author',
        'context.dissociate by author',
        'package.publish by author',
      ].sort(),
    );
    const metadata = Object.fromEntries(ofPackage.map((entry) => [entry.action, entry.metadata]));
    const { publication } = metadata['package.publish'] ?? {};
    expect(metadata).toMatchObject({
      'context.associate': { records: [kept.id, left.id] },
      'resources.add': { records: [kept.id, left.id] },
      'context.update': { record_policy: 'closed' },
      'resources.remove': { records: [left.id] },
      'context.dissociate': { records: [left.id] },
      'package.publish': { publication: expect.any(String), records: 1 },
    });

    const ofKept = await trailOf('records', kept);
    expect(told(ofKept)).toEqual([
      'draft.create by author',
      'record.associate by author',
      'record.publish by author',
    ]);
    expect(ofKept[0]?.metadata).toMatchObject({ publication, package: main.id });
    expect(told(await trailOf('records', left))).toEqual([
      'draft.create by author',
      'record.associate by author',
      'record.dissociate by author',
    ]);
  });

  test('is named in that of a resource by the link of the package that was used', async () => {
    const { main, resources } = await packageOfResources(author, 'Shared', 1);
    const [resource] = resources as [Entity];
    const shared = await share(main, 'edit');
    const withLink = { headers: { authorization: `AccessLink ${shared.token}` } };
    const self = `/records/${resource.id}/draft`;
    await anonymous.sure('PUT', self, {
      json: recordDocument('By link', { withFiles: true }),
      ...withLink,
    });
    await anonymous.sure('POST', `${self}/files`, { json: [{ key: 'a' }], ...withLink });
    const byLink = (await trailOf('records', resource)).filter(({ user }) => user === null);
    expect(byLink.map(({ action, access_links }) => [action, access_links])).toEqual([
      ['file.init', [{ id: shared.id }]],
      ['draft.update', [{ id: shared.id }]],
    ]);
  });

  test('has the requester of a publication whose services die meanwhile, once', async () => {
    const patient = insistentClient(author);
    const dying = [
      { part: 'packages', at: 'publish.commit.inside' },
      { part: 'packages', at: 'publish.commit.after' },
      { part: 'records', at: 'records.apply.inside' },
    ] as const;
    for (const { part, at } of dying) {
      const { main, resources } = await packageOfResources(patient, `Dies at ${at}`, 2);
      const shortLease = patientSettings({ publishLeaseMs: 3_000 });
      await system.relaunch(part, { ...shortLease, FAILPOINT: `${at}:kill` }, shortLease);
      const pid = system.pid(part);
      await patient.sure('POST', link(main, 'publish'));
      const trails = [
        await trailOf('packages', main, patient),
        ...(await Promise.all(resources.map((one) => trailOf('records', one, patient)))),
      ];
      expect({
        at,
        hasDied: system.pid(part) !== pid,
        published: trails.map((trail) => told(trail).filter((line) => line.includes('.publish'))),
      }).toEqual({
        at,
        hasDied: true,
        published: [
          ['package.publish by author'],
          ['record.publish by author'],
          ['record.publish by author'],
        ],
      });
    }
  });
});

describe('who may read it', () => {
  test('the owner and operators; to others it is as the entity is', async () => {
    const draft = await author.sure<Entity>('POST', '/records', { json: recordDocument('Not yet') });
    const open = await publish(
      author,
      await author.sure<Entity>('POST', '/records', { json: recordDocument('Open') }),
    );
    const closed = await publish(
      author,
      await author.sure<Entity>('POST', '/packages', {
        json: packageDocument('Closed', { access: { record: 'restricted', files: 'restricted' } }),
      }),
    );
    const { token } = await share(open, 'edit');
    const holder = { headers: { authorization: `AccessLink ${token}` } };
    const said = ({ status, body }: { status: number; body: Failed }) => [status, body.message];

    const asked = [
      ['records', draft, `/records/${draft.id}/draft`],
      ['packages', closed, `/packages/${closed.id}`],
      ['records', { id: '00000-00000' }, '/records/00000-00000'],
    ] as const;
    for (const [kind, one, entity] of asked) {
      expect(said(await stranger.call<Failed>('GET', target(kind, one)))).toEqual(
        said(await stranger.call<Failed>('GET', entity)),
      );
    }
    expect(said(await stranger.call<Failed>('GET', target('records', open)))).toEqual([
      403,
      'Permission denied.',
    ]);
    expect((await anonymous.call('GET', target('records', open), holder)).status).toBe(403);
    expect((await anonymous.call('GET', target('records', open))).status).toBe(401);
    for (const [kind, one] of [
      ['records', draft],
      ['records', open],
      ['packages', closed],
    ] as const) {
      expect(await trailOf(kind, one, admin)).toEqual(await trailOf(kind, one));
    }
    // Of the other kind there is no such entity.
    expect((await author.call('GET', target('packages', open))).status).toBe(404);
  });

  test.each([
    ['records', recordDocument],
    ['packages', packageDocument],
  ] as const)('of %s also when nothing else is left of them', async (kind, document) => {
    const draft = await author.sure<Entity>('POST', `/${kind}`, { json: document('Soon gone') });
    await share(draft, 'view');
    await author.sure('DELETE', link(draft, 'self'));
    const trail = await trailOf(kind, draft);
    expect(told(trail)).toEqual([
      'draft.create by author',
      'link.create by author',
      'draft.delete by author',
    ]);
    expect(await trailOf(kind, draft, admin)).toEqual(trail);
    const [refused, read] = [
      await stranger.call<Failed>('GET', target(kind, draft)),
      await stranger.call<Failed>('GET', `/${kind}/${draft.id}`),
    ];
    expect([refused.status, refused.body.message]).toEqual([read.status, read.body.message]);
    expect(refused.status).toBe(404);
  });
});

test.each(KEEPERS)('what %s has written stays', async (service) => {
  const client = new pg.Client(system.databaseUrls[service]);
  await client.connect();
  try {
    const before = (await client.query('select * from audit_entry order by position')).rows;
    expect(before.length).toBeGreaterThan(0);
    for (const statement of [
      "update audit_entry set user_id = 'nobody'",
      'delete from audit_entry',
      'truncate audit_entry',
    ]) {
      await expect(client.query(statement)).rejects.toThrow('append-only');
    }
    expect((await client.query('select * from audit_entry order by position')).rows).toEqual(before);
  } finally {
    await client.end();
  }
});
