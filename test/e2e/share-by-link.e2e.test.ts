import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import type { AccessLink, Entity, Failed, Listing } from './story/answers.ts';
import { packageDocument, recordDocument } from './story/documents.ts';
import { type HttpClient, httpClient } from './story/http-client.ts';
import { link, publish, relate, upload } from './story/stories.ts';

const RESTRICTED = { record: 'restricted', files: 'restricted' };
const PERMISSIONS = ['view', 'preview', 'edit'] as const;
type Permission = (typeof PERMISSIONS)[number];

const KINDS = [
  { kind: 'records', document: recordDocument },
  { kind: 'packages', document: packageDocument },
];

let system: TestSystem;
let author: HttpClient;
let anonymous: HttpClient;
const everyToken: string[] = [];
beforeAll(async () => {
  // All requests are logged, so that a token in a log would be found.
  system = await startSystem({ logLevel: 'debug' });
  author = httpClient(system.baseUrl, system.token);
  anonymous = httpClient(system.baseUrl);
});
afterAll(() => system?.stop());

/** The target as the holder of a link reads it. */
const by = (target: string, { token }: { token: string }) =>
  `${target}${target.includes('?') ? '&' : '?'}token=${encodeURIComponent(token)}`;

async function share(entity: Entity, permission: Permission, more: object = {}): Promise<AccessLink> {
  const made = await author.sure<AccessLink>('POST', link(entity, 'access_links'), {
    json: { permission, ...more },
  });
  everyToken.push(made.token);
  return made;
}

/** The ids of the links that an entity shows to its owner, who sees a new one a moment after it was made. */
const shownLinks = (target: string, count: number) =>
  until(
    async () => {
      const { parent } = await author.sure<Entity>('GET', target);
      const ids = parent.access?.links.map(({ id }) => id);
      return ids?.length === count ? ids : undefined;
    },
    { what: `${count} links on ${target}` },
  );

const statusOf = async (method: string, target: string, json?: object) =>
  (await anonymous.call(method, target, json === undefined ? {} : { json })).status;

describe.each(KINDS)('$kind', ({ kind, document }) => {
  const restricted = (title: string, withFiles = false) =>
    author.sure<Entity>('POST', `/${kind}`, { json: document(title, { access: RESTRICTED, withFiles }) });

  async function restrictedPublished(title: string): Promise<Entity> {
    const draft = await restricted(title, true);
    await upload(author, draft, 'a.txt', Buffer.from('secret'));
    return publish(author, draft);
  }

  test('a link has its five parts, and is listed, read and named by id where its entity is shown', async () => {
    const draft = await restricted('Five parts');
    const answer = await author.call<AccessLink>('POST', link(draft, 'access_links'), {
      json: { permission: 'view', expires_at: '2099-01-02T03:04:05+02:00' },
    });
    everyToken.push(answer.body.token);
    expect([answer.status, answer.body]).toEqual([
      201,
      {
        id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?$/),
        expires_at: '2099-01-02T01:04:05+00:00',
        permission: 'view',
        token: expect.stringMatching(/^\S{40,}$/),
      },
    ]);
    const second = await share(draft, 'edit');
    const one = `${link(draft, 'access_links')}/${answer.body.id}`;
    const shown = await shownLinks(link(draft, 'self'), 2);
    expect({
      list: await author.sure('GET', link(draft, 'access_links')),
      one: await author.sure('GET', one),
      shown,
    }).toEqual({
      list: { hits: { hits: [answer.body, second], total: 2 } },
      one: answer.body,
      shown: [answer.body.id, second.id],
    });
  });

  describe('what a link opens', () => {
    const granted = [200, 201, 202, 204];
    const TABLE: {
      what: string;
      request: (entity: Entity) => [method: string, target: string, json?: object];
      /** On a published entity with an edit draft, or on a separate draft for each try. */
      on: 'published' | 'draft' | 'editing';
      opens: Record<Permission, boolean>;
    }[] = [
      {
        what: 'the published entity',
        request: ({ id }) => ['GET', `/${kind}/${id}`],
        on: 'published',
        opens: { view: true, preview: true, edit: true },
      },
      {
        what: 'its files',
        request: ({ id }) => ['GET', `/${kind}/${id}/files`],
        on: 'published',
        opens: { view: true, preview: true, edit: true },
      },
      {
        what: 'their content',
        request: ({ id }) => ['GET', `/${kind}/${id}/files/a.txt/content`],
        on: 'published',
        opens: { view: true, preview: true, edit: true },
      },
      {
        what: 'its latest version',
        request: ({ id }) => ['GET', `/${kind}/${id}/versions/latest`],
        on: 'published',
        opens: { view: true, preview: true, edit: true },
      },
      {
        what: 'the draft of an edit',
        request: ({ id }) => ['GET', `/${kind}/${id}/draft`],
        on: 'editing',
        opens: { view: false, preview: true, edit: true },
      },
      {
        what: 'a draft',
        request: ({ id }) => ['GET', `/${kind}/${id}/draft`],
        on: 'draft',
        opens: { view: false, preview: true, edit: true },
      },
      {
        what: 'a draft’s files',
        request: ({ id }) => ['GET', `/${kind}/${id}/draft/files/a.txt/content`],
        on: 'draft',
        opens: { view: false, preview: true, edit: true },
      },
      {
        what: 'changing a draft',
        request: ({ id }) => [
          'PUT',
          `/${kind}/${id}/draft`,
          document('By link', { access: RESTRICTED, withFiles: true }),
        ],
        on: 'draft',
        opens: { view: false, preview: false, edit: true },
      },
      {
        what: 'an upload',
        request: ({ id }) => ['POST', `/${kind}/${id}/draft/files`, [{ key: 'b.txt' }]],
        on: 'draft',
        opens: { view: false, preview: false, edit: true },
      },
      {
        what: 'the removal of a file',
        request: ({ id }) => ['DELETE', `/${kind}/${id}/draft/files/a.txt`],
        on: 'draft',
        opens: { view: false, preview: false, edit: true },
      },
      {
        what: 'publishing',
        request: ({ id }) => ['POST', `/${kind}/${id}/draft/actions/publish`],
        on: 'draft',
        opens: { view: false, preview: false, edit: true },
      },
      {
        what: 'deleting a draft',
        request: ({ id }) => ['DELETE', `/${kind}/${id}/draft`],
        on: 'draft',
        opens: { view: false, preview: false, edit: true },
      },
      {
        what: 'opening an edit',
        request: ({ id }) => ['POST', `/${kind}/${id}/draft`],
        on: 'published',
        opens: { view: false, preview: false, edit: true },
      },
      {
        what: 'a new version',
        request: ({ id }) => ['POST', `/${kind}/${id}/versions`],
        on: 'published',
        opens: { view: false, preview: false, edit: true },
      },
      {
        what: 'the list of links',
        request: ({ id }) => ['GET', `/${kind}/${id}/access/links`],
        on: 'draft',
        opens: { view: false, preview: false, edit: false },
      },
      {
        what: 'making links',
        request: ({ id }) => ['POST', `/${kind}/${id}/access/links`, { permission: 'view' }],
        on: 'draft',
        opens: { view: false, preview: false, edit: false },
      },
      {
        what: 'making an entity of one’s own',
        request: () => ['POST', `/${kind}`, document('New')],
        on: 'draft',
        opens: { view: false, preview: false, edit: false },
      },
    ];

    async function entityFor(on: (typeof TABLE)[number]['on']): Promise<Entity> {
      if (on === 'draft') {
        const draft = await restricted('Shared draft', true);
        await upload(author, draft, 'a.txt', Buffer.from('secret'));
        return draft;
      }
      const published = await restrictedPublished('Shared');
      if (on === 'editing') await author.sure('POST', link(published, 'draft'));
      return published;
    }

    test.each(TABLE)('$what: $opens', async ({ request, on, opens }) => {
      // One after the other, least first: an operation that is granted may end the entity.
      const entity = await entityFor(on);
      const [method, target, json] = request(entity);
      const nobody = await statusOf(method, target, json);
      const statuses: number[] = [];
      for (const permission of PERMISSIONS) {
        statuses.push(await statusOf(method, by(target, await share(entity, permission)), json));
      }
      expect({ nobody, opened: statuses.map((status) => granted.includes(status)), statuses }).toEqual({
        nobody: on === 'published' && method === 'GET' ? 403 : 401,
        opened: PERMISSIONS.map((permission) => opens[permission]),
        statuses: PERMISSIONS.map((permission) => (opens[permission] ? expect.any(Number) : 403)),
      });
    });
  });

  test('a link adds its permissions to those of its holder', async () => {
    const { token } = await system.createUser(`reader-${kind}`);
    const reader = httpClient(system.baseUrl, token);
    const [one, other] = [await restrictedPublished('One'), await restrictedPublished('Other')];
    const shared = await share(one, 'view');
    const statuses = await Promise.all(
      [
        `/${kind}/${one.id}`,
        by(`/${kind}/${one.id}`, shared),
        by(`/${kind}/${other.id}`, shared),
        by(`/user/${kind}`, shared),
      ].map(async (target) => (await reader.call('GET', target)).status),
    );
    expect(statuses).toEqual([403, 200, 403, 200]);
  });

  test('a link is for all versions, those made later too', async () => {
    const first = await restrictedPublished('All versions');
    const shared = await share(first, 'preview');
    const next = await author.sure<Entity>('POST', link(first, 'versions'));
    const draft = await statusOf('GET', by(link(next, 'self'), shared));
    await author.sure('PUT', link(next, 'self'), { json: document('Second', { access: RESTRICTED }) });
    await publish(author, next);
    const statuses = await Promise.all(
      [first, next].map(({ id }) => statusOf('GET', by(`/${kind}/${id}`, shared))),
    );
    const versions = await until(async () => {
      const listing = await anonymous.sure<Listing>('GET', by(`/${kind}/${first.id}/versions`, shared));
      return listing.hits.total === 2 ? listing.hits.total : undefined;
    });
    expect([draft, statuses, versions]).toEqual([200, [200, 200], 2]);
  });

  test('what a link opens is found by its holder alone', async () => {
    const hidden = await restrictedPublished(`Hidden ${kind}`);
    const shared = await share(hidden, 'view');
    const target = `/search?q=id:"${hidden.id}"`;
    const found = await until(async () => {
      const { hits } = await anonymous.sure<Listing>('GET', by(target, shared));
      return hits.total === 1 ? hits : undefined;
    });
    const others = await anonymous.sure<Listing>('GET', target);
    expect([found.hits.map(({ id }) => id), others.hits.total]).toEqual([[hidden.id], 0]);
  });

  test('a change of its permission is felt by the same token', async () => {
    const draft = await restricted('Changed');
    const shared = await share(draft, 'view');
    const one = `${link(draft, 'access_links')}/${shared.id}`;
    const self = by(link(draft, 'self'), shared);
    const before = await statusOf('GET', self);
    const patched = await author.call<AccessLink>('PATCH', one, { json: { permission: 'preview' } });
    expect([before, patched.status, patched.body]).toEqual([403, 200, { ...shared, permission: 'preview' }]);
    expect(await statusOf('GET', self)).toBe(200);
  });

  test('a revoked link opens nothing at once, and nothing brings it back', async () => {
    const published = await restrictedPublished('Revoked');
    const shared = await share(published, 'edit');
    const one = `${link(published, 'access_links')}/${shared.id}`;
    const self = by(link(published, 'self'), shared);
    const before = await statusOf('GET', self);
    const revoked = [(await author.call('DELETE', one)).status, (await author.call('DELETE', one)).status];
    const after = [
      await statusOf('GET', self),
      await statusOf('GET', by(`/${kind}/${published.id}/files/a.txt/content`, shared)),
      await statusOf('POST', by(`/${kind}/${published.id}/draft`, shared)),
    ];
    const { body } = await anonymous.call<{ code: string; hint: string }>('GET', self);
    expect([body.code, body.hint]).toEqual([
      'access_link_expired',
      'The access link has expired or was revoked. Request a new one from its owner.',
    ]);
    const shown = await shownLinks(link(published, 'self'), 0);
    expect({ before, revoked, after, shown }).toEqual({
      before: 200,
      revoked: [204, 404],
      after: [403, 403, 401],
      shown: [],
    });
  });

  test('a link ends at its expiry', async () => {
    const published = await restrictedPublished('Expires');
    const sharedFor = async (lifeMs: number): Promise<{ shared: AccessLink; before: number }> => {
      const expires_at = new Date(Date.now() + lifeMs).toISOString();
      const shared = await share(published, 'view', { expires_at });
      const before = await statusOf('GET', by(link(published, 'self'), shared));
      // If the link expires before it could be read, the test tries again with a longer lifetime.
      return Date.now() < Date.parse(expires_at) ? { shared, before } : sharedFor(4 * lifeMs);
    };
    const { shared, before } = await sharedFor(2_500);
    const self = by(link(published, 'self'), shared);
    await until(async () => (await statusOf('GET', self)) !== 200, { timeoutMs: 240_000, everyMs: 100 });
    const one = `${link(published, 'access_links')}/${shared.id}`;
    const later = await author.call<Failed>('PATCH', one, {
      json: { permission: 'view', expires_at: '2099-01-01T00:00:00Z' },
    });
    expect([before, await statusOf('GET', self), later.status, later.body.errors?.[0]?.messages]).toEqual([
      200,
      403,
      400,
      ['Cannot postpone expiration of links'],
    ]);
  });

  test.each(['garbage', 'eyJhbGciOiJIUzUxMiJ9.eyJpZCI6MX0.x', "' or 1=1 --", 'x'.repeat(5_000)])(
    'a token of somebody’s own making adds nothing: %#',
    async (token) => {
      const published = await restrictedPublished('Forged');
      const open = await publish(
        author,
        await author.sure<Entity>('POST', `/${kind}`, { json: document('Open') }),
      );
      expect([
        await statusOf('GET', by(`/${kind}/${published.id}`, { token })),
        await statusOf('GET', by(`/${kind}/${open.id}`, { token })),
        (
          await anonymous.call('GET', `/${kind}/${published.id}`, {
            headers: { authorization: `Bearer ${encodeURIComponent(token)}` },
          })
        ).status,
      ]).toEqual([403, 200, 401]);
    },
  );

  test('no answer to a link’s holder has the token in it', async () => {
    const published = await restrictedPublished('No echo');
    const shared = await share(published, 'edit');
    const answers = await Promise.all(
      [
        `/${kind}/${published.id}`,
        `/${kind}/${published.id}/files`,
        `/${kind}/${published.id}/versions`,
        `/search?q=echo&size=1`,
      ].map((target) => anonymous.call<Entity>('GET', by(target, shared))),
    );
    expect(
      answers.map(({ status, text, headers }) => ({
        status,
        echoed: text.includes(shared.token),
        caching: headers.get('cache-control'),
        owners: /owned_by/.test(text),
      })),
    ).toEqual(
      answers.map(() => ({ status: 200, echoed: false, caching: 'private, no-store', owners: false })),
    );
  });
});

describe('a package and the resources it manages', () => {
  test('a link of the package opens its resources, and no others', async () => {
    const main = await author.sure<Entity>('POST', '/packages', {
      json: packageDocument('Shared whole', { access: RESTRICTED }),
    });
    const json = recordDocument('Part', { access: RESTRICTED });
    const [managed, loose] = [
      await author.sure<Entity>('POST', '/records', { json }),
      await author.sure<Entity>('POST', '/records', { json }),
    ];
    const early = await share(main, 'preview');
    await relate(author, main, [managed]);
    const late = await share(main, 'view');
    const opens = async (shared: AccessLink, { id }: Entity, form = '') =>
      statusOf('GET', by(`/records/${id}${form}`, shared));
    const drafts = [
      await opens(early, managed, '/draft'),
      await opens(late, managed, '/draft'),
      await opens(early, loose, '/draft'),
    ];
    await publish(author, main);
    const published = [await opens(early, managed), await opens(late, managed)];
    expect({ drafts, published }).toEqual({ drafts: [200, 403, 403], published: [200, 200] });
    await author.sure('DELETE', `${link(main, 'access_links')}/${early.id}`);
    await until(async () => (await opens(early, managed)) !== 200);
    expect([await opens(early, managed), await opens(late, managed)]).toEqual([403, 200]);
  });

  test('an edit link of the package may change its resources', async () => {
    const main = await author.sure<Entity>('POST', '/packages', { json: packageDocument('Edited whole') });
    const resource = await author.sure<Entity>('POST', '/records', { json: recordDocument('Part') });
    await relate(author, main, [resource]);
    const shared = await share(main, 'edit');
    const statuses = [
      await statusOf('PUT', by(`/records/${resource.id}/draft`, shared), recordDocument('Changed')),
      await statusOf('GET', by(`/packages/${main.id}/draft/resources`, shared)),
      await statusOf('POST', by(`/packages/${main.id}/draft/actions/publish`, shared)),
      await statusOf('GET', `/records/${resource.id}`),
    ];
    expect(statuses).toEqual([200, 200, 202, 200]);
  });
});

test('no token of all these is in a log', async () => {
  const logs = await Promise.all(
    (await readdir(system.logDir)).map(
      async (name) => [name, await readFile(join(system.logDir, name), 'utf8')] as const,
    ),
  );
  const leaked = logs.filter(([, text]) =>
    [...everyToken, system.token].some((token) => text.includes(token)),
  );
  expect({
    leaked: leaked.map(([name]) => name),
    logged: logs.some(([, text]) => text.includes('token=…')),
  }).toEqual({
    leaked: [],
    logged: true,
  });
});
