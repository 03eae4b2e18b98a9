import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import { type SharedSystem, sharedSystem } from '@kr/testbed/shared-system';
import { DOCUMENT_ROUTES } from './rest-document/document-routes.ts';
import { ANSWERS, ENDPOINTS, type Row } from './rest-document/endpoints.ts';
import {
  ACCESS_LINK,
  type Collection,
  ENVELOPE,
  entityShape,
  FILES,
  FILES_LISTING,
  FORMS,
  LEADS_TO,
  LINKS,
  linkForm,
  METADATA,
} from './rest-document/shapes.ts';
import {
  BOX,
  buildWorld,
  CONTENT,
  FILE,
  MANY,
  MANY_COUNT,
  PENDING_FILE,
  PLACED,
  type Place,
  STANDING,
  type Standing,
  VERSIONED,
  type World,
} from './rest-document/world.ts';
import type { AccessLink, Entity, Failed, FileEntry, FilesListing, Listing } from './story/answers.ts';
import { recordDocument } from './story/documents.ts';
import { type Answer, type HttpClient, httpClient } from './story/http-client.ts';
import { link, packageOfResources, publish, publishedRecord } from './story/stories.ts';

const KINDS = ['records', 'packages'] as const;
const VENDOR_TYPE = 'application/vnd.inveniordm.v1+json';

let system: SharedSystem;
let author: HttpClient;
let anonymous: HttpClient;
let world: World;
beforeAll(async () => {
  system = await sharedSystem();
  author = httpClient(system.baseUrl, system.token);
  anonymous = httpClient(system.baseUrl);
  world = await buildWorld(author);
});
afterAll(() => system?.stop());

const kindOf = ({ path }: Row): Collection => (path.includes('/packages') ? 'packages' : 'records');
const nameOf = ({ section, method, path }: Row) => `${section} ${method} ${path}`;
const target = (path: string, place: Place) =>
  path.slice('/api'.length).replace(/\{([a-z-]+)\}/g, (_, name: keyof Place) => place[name] ?? '');
const at = (kind: Collection, standing: Standing): Promise<Place> => STANDING[standing](world, kind);

const sentOf = ({ sends }: Row, place: Place) => (typeof sends === 'function' ? sends(place) : sends);

async function ask(row: Row): Promise<Answer<unknown>> {
  const place = await at(kindOf(row), row.on);
  return author.call(row.method, target(row.path, place), sentOf(row, place));
}

describe('2 resources and their fields', () => {
  const inAllForms = (check: (kind: Collection, form: (typeof FORMS)[number], entity: Entity) => void) => {
    for (const kind of KINDS) for (const form of FORMS) check(kind, form, world.kinds[kind].forms[form]);
  };
  /** As objects of one field, so that a failure names kind, form and field. */
  const named = (kind: Collection, form: string, field: string, value: unknown) => ({
    [`${field} of ${kind}, ${form}`]: value,
  });

  test.each(Object.entries(ENVELOPE))('2.1 %s', (field, shape) => {
    inAllForms((kind, form, entity) => {
      const expected = shape(kind, form);
      const has = Object.hasOwn(entity, field);
      if (expected === undefined && field !== 'expires_at') return;
      expect(named(kind, form, field, has)).toEqual(named(kind, form, field, expected !== undefined));
      if (expected === undefined) return;
      const value: unknown = Object.getOwnPropertyDescriptor(entity, field)?.value;
      expect(named(kind, form, field, value)).toMatchObject(named(kind, form, field, expected));
    });
  });

  test('2.1 expanded is an object when a package is created', () => {
    expect(world.kinds.packages.made).toMatchObject({ expanded: expect.any(Object) });
  });

  test('2.1 parent.id is shared by all versions', () => {
    const parents = KINDS.map((kind) => world.kinds[kind].forms['new version'].parent.id);
    expect(parents).toEqual(KINDS.map((kind) => world.kinds[kind].first.parent.id));
  });

  test('2.1 access.embargo.reason and files.default_preview are texts once they are set', () => {
    for (const kind of KINDS) {
      expect(world.kinds[kind].forms.draft).toMatchObject({
        access: { files: 'restricted', embargo: { reason: 'Reviewed first', active: true } },
        files: { enabled: true, default_preview: FILE, order: [FILE] },
      });
      expect(world.kinds[kind].forms.published).toMatchObject({
        access: { files: 'public', embargo: { reason: null, active: false } },
      });
    }
  });

  describe.each([
    { section: '2.2', kind: 'records' },
    { section: '2.3', kind: 'packages' },
  ] as const)('$section', ({ section, kind }) => {
    test.each(Object.entries(METADATA[kind]))(`${section} %s`, (field, expected) => {
      for (const form of FORMS) {
        if (field === 'publication_date' && form === 'new version') continue;
        const { metadata } = world.kinds[kind].forms[form];
        expect(named(kind, form, field, metadata[field])).toMatchObject(named(kind, form, field, expected));
      }
    });
  });

  test.each(
    KINDS.flatMap((kind) =>
      (['draft', 'published'] as const).map((form) => ({ kind, form, names: LINKS[kind][form] })),
    ),
  )('2.4 links of $kind, $form', ({ kind, form, names }) => {
    for (const each of FORMS.filter((one) => linkForm(one) === form)) {
      const { links } = world.kinds[kind].forms[each];
      const shown = names.filter((name) => links[name]?.startsWith(`${system.baseUrl}/`));
      expect(named(kind, each, 'links', shown)).toEqual(named(kind, each, 'links', names));
    }
  });

  test.each(LEADS_TO)('2.4 %s, %s: %s leads to %s', (kind, form, name, path) => {
    const { id, parent, links } = world.kinds[kind].forms[form];
    const place = { id, 'parent-id': parent.id, filename: FILE };
    expect(links[name]).toBe(`${system.baseUrl}/api${target(path, place)}`);
  });

  test.each(KINDS)('2.5 a file entry of %s, pending, completed and published', async (kind) => {
    const { draft, published } = world.kinds[kind].forms;
    const read = (entity: Entity, key: string) =>
      author.sure<FileEntry>('GET', `${link(entity, 'files')}/${key}`);
    const pending = await read(draft, PENDING_FILE);
    expect(pending).toMatchObject(FILES.pending);
    expect(await read(draft, FILE)).toMatchObject(FILES.completed);
    const open = await read(published, FILE);
    expect(open).toMatchObject({ ...FILES.published, key: FILE, size: CONTENT.byteLength });
    expect(open.links).not.toHaveProperty('commit');
    const paths = [pending, open].map(({ links }) =>
      Object.values(links).map((url) => new URL(url, system.baseUrl).pathname),
    );
    expect(paths).toEqual([
      expect.arrayContaining(
        ['', '/content', '/commit'].map(
          (rest) => `/api/${kind}/${draft.id}/draft/files/${PENDING_FILE}${rest}`,
        ),
      ),
      expect.arrayContaining(
        ['', '/content'].map((rest) => `/api/${kind}/${published.id}/files/${FILE}${rest}`),
      ),
    ]);
  });

  test.each(KINDS)('2.5 the metadata of a file of %s are free', async (kind) => {
    const { id, filename } = await at(kind, 'a draft with a file');
    const self = `/${kind}/${id}/draft/files/${filename}`;
    const metadata = { width: 1200, height: 800 };
    await author.sure('PUT', self, { json: metadata });
    expect(await author.sure('GET', self)).toMatchObject({ metadata });
  });

  test.each(KINDS)('2.5 a files listing of %s', async (kind) => {
    const { draft, published } = world.kinds[kind].forms;
    const ofDraft = await author.sure<FilesListing>('GET', link(draft, 'files'));
    expect(ofDraft).toMatchObject({ ...FILES_LISTING, default_preview: FILE, order: [FILE] });
    expect(ofDraft.entries.map(({ key }) => key).sort()).toEqual([PENDING_FILE, FILE].sort());
    const ofPublished = await author.sure<FilesListing>('GET', link(published, 'files'));
    expect(ofPublished).toMatchObject({ ...FILES_LISTING, default_preview: null, order: [] });
  });

  test.each(KINDS)('2.6 an access link of %s', async (kind) => {
    const [forEver, untilADay] = world.kinds[kind].links;
    expect(forEver).toMatchObject({ ...ACCESS_LINK, expires_at: null });
    expect(untilADay).toMatchObject({ ...ACCESS_LINK, expires_at: expect.stringContaining('2199-01-01T') });
    expect(Object.keys(forEver).sort()).toEqual(Object.keys(ACCESS_LINK).sort());
  });

  test.each(['view', 'preview', 'edit'])('2.6 permission %s', async (permission) => {
    for (const kind of KINDS) {
      const { id } = await at(kind, 'a draft');
      const made = await author.call('POST', `/${kind}/${id}/access/links`, { json: { permission } });
      expect(made).toMatchObject({ status: 201, body: { permission } });
    }
  });
});

describe.each(KINDS)('3 states and transitions of %s', (kind) => {
  const isPackage = kind === 'packages';
  const call = <Body = Entity>(method: string, place: Place, rest: string, sent = {}) =>
    author.call<Body>(method, `/${kind}/${place.id}${rest}`, sent);
  const status = (name: string) => (isPackage ? { status: name } : {});

  test('3 none, create draft: draft', async () => {
    const json = world.kinds[kind].document('New');
    expect(await author.call('POST', `/${kind}`, { json })).toMatchObject({
      status: 201,
      body: {
        is_published: false,
        versions: { index: 1, is_latest: false, is_latest_draft: true },
        ...status('draft'),
      },
    });
  });

  test('3 draft, update draft: draft', async () => {
    const place = await at(kind, 'a draft');
    const access = { record: 'restricted', files: 'restricted' };
    const metadata = { title: 'Replaced' };
    const updated = await call('PUT', place, '/draft', {
      json: { access, files: { enabled: true, order: ['a'] }, metadata },
    });
    expect(updated).toMatchObject({
      status: 200,
      body: { is_published: false, access, files: { enabled: true, order: ['a'] }, metadata },
    });
    expect(updated.body.metadata).not.toHaveProperty('creators');
  });

  test('3 draft, publish: published', async () => {
    const place = await at(kind, 'a draft');
    expect(await call('POST', place, '/draft/actions/publish')).toMatchObject({
      status: 202,
      body: { is_published: true, versions: { index: 1, is_latest: true }, ...status('published') },
    });
  });

  test('3 published, edit published: draft of the published entity', async () => {
    const place = await at(kind, 'a published one');
    expect(await call('POST', place, '/draft')).toMatchObject({
      status: 201,
      body: {
        id: place.id,
        is_published: isPackage,
        ...(isPackage ? { status: 'published', is_draft: true } : {}),
      },
    });
  });

  test('3 published, create new version: new-version draft', async () => {
    const place = await at(kind, 'a published one');
    const next = await call('POST', place, '/versions');
    expect(next).toMatchObject({
      status: 201,
      body: {
        id: expect.not.stringMatching(`^${place.id}$`),
        parent: { id: place['parent-id'] },
        is_published: false,
        versions: { index: 2 },
        ...status('new_version_draft'),
      },
    });
    expect(next.body.metadata).not.toHaveProperty('publication_date');
  });

  test('3 draft (never published), delete draft: removed, with its files', async () => {
    const place = await at(kind, 'a draft with a file');
    const deleted = await call('DELETE', place, '/draft');
    const after = await Promise.all(
      ['', '/draft', '/draft/files', `/draft/files/${FILE}/content`].map((rest) => call('GET', place, rest)),
    );
    expect([deleted.status, ...after.map((answer) => answer.status)]).toEqual([204, 404, 404, 404, 404]);
  });

  test('3 draft of a published entity, delete draft: published', async () => {
    const place = await at(kind, 'an edit draft');
    const deleted = await call('DELETE', place, '/draft');
    const [draft, published] = [await call('GET', place, '/draft'), await call('GET', place, '')];
    expect([deleted.status, draft.status, published.status]).toEqual([204, 404, 200]);
    expect(published.body).toMatchObject({ is_published: true, ...status('published') });
  });

  test('3 the states of a file: absent, pending, uploaded, completed, removed', async () => {
    const place = await at(kind, 'a draft with files enabled');
    const file = `/draft/files/${FILE}`;
    const started = await call<FilesListing>('POST', place, '/draft/files', { json: [{ key: FILE }] });
    const early = await call<FileEntry>('POST', place, `${file}/commit`);
    const uploaded = await call<FileEntry>('PUT', place, `${file}/content`, { bytes: CONTENT });
    const committed = await call<FileEntry>('POST', place, `${file}/commit`);
    const removed = await call('DELETE', place, file);
    const after = await call('GET', place, file);
    expect([
      [started.status, started.body.entries[0]?.status],
      early.status,
      [uploaded.status, uploaded.body.status],
      [committed.status, committed.body.status],
      removed.status,
      after.status,
    ]).toEqual([[201, 'pending'], 400, [200, 'pending'], [200, 'completed'], 204, 404]);
    expect(uploaded.body).not.toHaveProperty('checksum');
  });

  test('3 file pending, delete draft file: removed', async () => {
    const place = await at(kind, 'a draft with a started file');
    expect((await call('DELETE', place, `/draft/files/${FILE}`)).status).toBe(204);
  });
});

describe('3 a package and its resources', () => {
  test('3 draft, publish: resource drafts are published with it', async () => {
    const { main, resources } = await packageOfResources(author, 'Together', 2);
    await publish(author, main);
    const read = await Promise.all(resources.map(({ id }) => author.sure<Entity>('GET', `/records/${id}`)));
    expect(read.map(({ is_published }) => is_published)).toEqual([true, true]);
  });

  test('3 draft, publish: nothing is published when one resource fails', async () => {
    const { main, resources } = await packageOfResources(author, 'Not together', 2);
    await author.sure('PUT', `/records/${resources[1]?.id}/draft`, { json: { metadata: { title: 'Half' } } });
    const refused = await author.call<Failed>('POST', link(main, 'publish'));
    const read = await Promise.all(
      [`/packages/${main.id}`, ...resources.map(({ id }) => `/records/${id}`)].map((one) =>
        author.call('GET', one),
      ),
    );
    expect([refused.status, ...read.map(({ status }) => status)]).toEqual([400, 404, 404, 404]);
    expect(await author.sure('GET', link(main, 'self'))).toMatchObject({ status: 'draft' });
  });
});

describe('4 endpoints', () => {
  test.each(ENDPOINTS.map((row) => [`${nameOf(row)} answers ${row.status} with ${row.gives}`, row] as const))(
    '%s',
    async (_, row) => {
      expect(await ask(row)).toMatchObject({ status: row.status, ...ANSWERS[row.gives] });
    },
  );

  test.each(ENDPOINTS.filter(({ inBothTypes }) => inBothTypes).map((row) => [nameOf(row), row] as const))(
    '%s is offered in two media types',
    async (_, row) => {
      const url = target(row.path, await at(kindOf(row), row.on));
      const get = (accept: string) => author.call('GET', url, { headers: { accept } });
      const [plain, vendor] = [await get('application/json'), await get(VENDOR_TYPE)];
      const typeOf = ({ headers }: Answer<unknown>) => headers.get('content-type')?.split(';')[0];
      expect([plain.status, typeOf(plain), vendor.status, typeOf(vendor)]).toEqual([
        row.status,
        'application/json',
        row.status,
        VENDOR_TYPE,
      ]);
      expect(vendor.body).toMatchObject(bodyOf(row));
    },
  );

  const bodyOf = ({ gives }: Row): object => {
    const answer = ANSWERS[gives];
    return 'body' in answer ? answer.body : {};
  };

  test.each(KINDS)('4.1, 4.4 what is created in %s has what was sent', async (kind) => {
    const json = {
      access: { record: 'restricted', files: 'restricted' },
      files: { enabled: true, default_preview: null, order: ['b', 'a'] },
      metadata: { title: 'As sent', publication_date: '2026-03-02' },
    };
    const { files, ...rest } = json;
    const made = await author.call('POST', `/${kind}`, { json });
    expect(made).toMatchObject({
      status: 201,
      body: { ...rest, files: { enabled: files.enabled, order: files.order } },
    });
  });

  test.each(['4.2 records', '4.6 packages'])('%s: one pending entry for each key', async (name) => {
    const kind = name.endsWith('records') ? 'records' : 'packages';
    const { id } = await at(kind, 'a draft with files enabled');
    const keys = ['a.txt', 'b.txt', 'c d.txt'];
    const listing = await author.sure<FilesListing>('POST', `/${kind}/${id}/draft/files`, {
      json: keys.map((key) => ({ key })),
    });
    expect(listing.entries.map(({ key, status }) => [key, status])).toEqual(
      keys.map((key) => [key, 'pending']),
    );
  });

  test.each(['4.2 records', '4.6 packages'])('%s: content is sent as octets alone', async (name) => {
    const kind = name.endsWith('records') ? 'records' : 'packages';
    const { id } = await at(kind, 'a draft with a started file');
    const other = await author.call('PUT', `/${kind}/${id}/draft/files/${FILE}/content`, {
      bytes: CONTENT,
      headers: { 'content-type': 'text/plain' },
    });
    expect(other.status).toBe(415);
  });

  test.each(['4.2 records', '4.6 packages'])('%s: content may arrive without its length', async (name) => {
    const kind = name.endsWith('records') ? 'records' : 'packages';
    const { id } = await at(kind, 'a draft with a started file');
    const file = `/${kind}/${id}/draft/files/${FILE}`;
    const sent = await fetch(`${system.baseUrl}/api${file}/content`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${system.token}`, 'content-type': 'application/octet-stream' },
      body: new Blob([CONTENT]).stream(),
      duplex: 'half',
    });
    const { size } = await author.sure<FileEntry>('POST', `${file}/commit`);
    expect([sent.status, size]).toEqual([200, CONTENT.byteLength]);
  });

  test('4.4 resources-import brings the resources of the version before', async () => {
    const { id, resource } = await at('packages', 'a later version');
    const listed = async () =>
      (await author.sure<Listing>('GET', `/packages/${id}/draft/resources`)).hits.hits.map((hit) => hit.id);
    const before = await listed();
    await author.sure('POST', `/packages/${id}/draft/actions/resources-import`);
    expect([before, await listed()]).toEqual([[], [resource]]);
  });

  describe('4.5', () => {
    const listOf = (...ids: (string | undefined)[]) => ids.map((id) => ({ id }));
    const inDraft = (id?: string) => `/packages/${id}/draft/resources`;
    const inContext = (place: Place) => `/packages/context/${place['parent-id']}/resources`;
    const listed = async (url: string) =>
      (await author.sure<Listing>('GET', url)).hits.hits.map((hit) => hit.id);

    test('4.5 associate and dissociate change the context, not the published version', async () => {
      const main = await at('packages', 'a published one');
      const { id } = await at('records', 'a draft');
      const change = (action: string) =>
        author.call('POST', `/packages/${main.id}/context/actions/${action}`, {
          json: { records: listOf(id) },
        });
      const associated = await change('associate');
      const inside = await listed(inContext(main));
      const dissociated = await change('dissociate');
      expect([associated.status, inside, dissociated.status, await listed(inContext(main))]).toEqual([
        204,
        [id],
        204,
        [],
      ]);
    });

    test('4.5 associate takes drafts alone', async () => {
      const main = await at('packages', 'a draft');
      const { id } = await at('records', 'a published one');
      const refused = await author.call('POST', `/packages/${main.id}/context/actions/associate`, {
        json: { records: listOf(id) },
      });
      expect([refused.status, await listed(inContext(main))]).toEqual([400, []]);
    });

    test('4.5 a published resource is added without a change, and is taken out', async () => {
      const main = await at('packages', 'a draft');
      const resource = await publishedRecord(author, 'Published before');
      const read = async () => {
        const { relationship: _, ...rest } = await author.sure<Entity>('GET', link(resource, 'self'));
        return rest;
      };
      const before = await read();
      const json = { resources: listOf(resource.id) };
      const added = await author.call('POST', inDraft(main.id), { json });
      const inside = await listed(inDraft(main.id));
      const after = await read();
      const removed = await author.call('DELETE', inDraft(main.id), { json });
      expect([added.body, inside, after, removed.body, await listed(inDraft(main.id))]).toEqual([
        { errors: [] },
        [resource.id],
        before,
        { errors: [] },
        [],
      ]);
    });

    test('4.5 a resource that leaves a version stays in the context', async () => {
      const { resource, ...main } = await at('packages', 'a resource inside');
      await author.sure('DELETE', inDraft(main.id), { json: { resources: listOf(resource) } });
      expect([await listed(inDraft(main.id)), await listed(inContext(main))]).toEqual([[], [resource]]);
    });

    test.each([
      { name: 'size', query: '', count: 10 },
      { name: 'size', query: '?size=4', count: 4 },
      { name: 'page', query: '?size=8&page=2', count: MANY_COUNT - 8 },
      { name: 'q', query: '?q=part', count: 10 },
      { name: 'q', query: '?q=absent', count: 0 },
    ])('4.5 $name of the listings: $query', async ({ query, count }) => {
      const place = await at('packages', 'the large one');
      for (const url of [inDraft(place.id), inContext(place)]) {
        const { hits } = await author.sure<Listing>('GET', `${url}${query}`);
        expect([url, hits.hits.length, hits.total]).toEqual([url, count, count === 0 ? 0 : MANY_COUNT]);
        for (const hit of hits.hits) expect(hit).toMatchObject(entityShape('records', 'published'));
      }
    });

    test.each([
      { sort: 'oldest', inOrder: (created: string[]) => created.toSorted() },
      { sort: 'newest', inOrder: (created: string[]) => created.toSorted().reverse() },
    ])('4.5 sort of the listings: $sort', async ({ sort, inOrder }) => {
      const place = await at('packages', 'the large one');
      for (const url of [inDraft(place.id), inContext(place)]) {
        const { hits } = await author.sure<Listing>('GET', `${url}?size=30&sort=${sort}`);
        const created = hits.hits.map((hit) => hit.created);
        expect([url, created.length, created]).toEqual([url, MANY_COUNT, inOrder(created)]);
      }
    });
  });

  test('4.7 a link is changed and is gone when it is deleted', async () => {
    for (const kind of KINDS) {
      const place = await at(kind, 'a link');
      const self = `/${kind}/${place.id}/access/links/${place['link-id']}`;
      const before = await author.sure<AccessLink>('GET', self);
      const changed = await author.sure<AccessLink>('PATCH', self, { json: { permission: 'edit' } });
      const undecided = await author.call('PATCH', self, { json: {} });
      const read = await author.sure<AccessLink>('GET', self);
      const deleted = await author.call('DELETE', self);
      const after = await author.call('GET', self);
      expect([before.permission, changed.permission, undecided.status, read]).toEqual([
        'preview',
        'edit',
        400,
        changed,
      ]);
      expect([deleted.status, after.status]).toEqual([204, 404]);
    }
  });

  test.each([
    ['Content-Disposition', /\S/],
    ['Content-Length', new RegExp(`^${CONTENT.byteLength}$`)],
    ['Content-MD5', /^\S+$/],
    ['Content-Type', /^text\/\S+/],
    ['Date', / GMT$/],
    ['ETag', /^"md5:[0-9a-f]{32}"$/],
    ['Last-Modified', / GMT$/],
  ])('4.8 %s', async (header, pattern) => {
    const downloads = ENDPOINTS.filter(({ method, gives }) => method === 'GET' && gives === 'bytes');
    expect(downloads).toHaveLength(4);
    for (const row of downloads) {
      const answer = await ask(row);
      expect([nameOf(row), answer.bytes, answer.headers.get(header)]).toEqual([
        nameOf(row),
        CONTENT,
        expect.stringMatching(pattern),
      ]);
    }
  });

  describe('4.9', () => {
    const LISTINGS = [
      { path: '/records', kinds: 1 },
      { path: '/packages', kinds: 1 },
      { path: '/user/records', kinds: 1 },
      { path: '/user/packages', kinds: 1 },
      { path: '/search', kinds: 2 },
    ];
    const search = (path: string, query: string) => author.sure<Listing>('GET', `${path}?${query}`);
    const created = ({ hits }: Listing) => hits.hits.map((hit) => Date.parse(`${hit.created}`.slice(0, 23)));

    beforeAll(async () => {
      const isIndexed = async (query: string, count: number) =>
        (await search('/search', query)).hits.total === count;
      await until(() => isIndexed(`q=${MANY}`, 2 * MANY_COUNT));
      await until(() => isIndexed(`q=${PLACED}`, 2));
      await until(() => isIndexed(`q=${VERSIONED}&allversions=true`, 4));
    });

    const total =
      (each: number) =>
      ({ hits }: Listing, kinds: number) =>
        expect(hits.total).toBe(each * kinds);
    const shown =
      (count: (kinds: number) => number) =>
      ({ hits }: Listing, kinds: number) =>
        expect(hits.hits).toHaveLength(count(kinds));

    const PARAMETERS: [name: string, query: string, check: (found: Listing, kinds: number) => void][] = [
      ['q', `q=${MANY}`, total(MANY_COUNT)],
      ['q', `q=metadata.title:(${MANY} AND absent)`, total(0)],
      ['q', `q=${VERSIONED} OR ${PLACED}`, total(2)],
      ['bbox', `q=${MANY} ${PLACED}&bbox=${BOX}`, total(1)],
      ['bbox', `q=${PLACED}&bbox=-20,21,-10,20`, total(0)],
      [
        'sort',
        `q=${MANY}&size=30&sort=oldest`,
        (found) => expect(created(found)).toEqual(created(found).sort()),
      ],
      [
        'sort',
        `q=${MANY}&size=30&sort=newest`,
        (found) => expect(created(found)).toEqual(created(found).sort().reverse()),
      ],
      ['size', `q=${MANY}`, shown(() => 10)],
      ['size', `q=${MANY}&size=3`, shown(() => 3)],
      ['page', `q=${MANY}&page=2`, shown((kinds) => Math.min(10, kinds * MANY_COUNT - 10))],
      ['page', `q=${MANY}&size=8&page=2`, shown((kinds) => Math.min(8, kinds * MANY_COUNT - 8))],
      ['allversions', `q=${VERSIONED}`, total(1)],
      ['allversions', `q=${VERSIONED}&allversions=false`, total(1)],
      ['allversions', `q=${VERSIONED}&allversions=true`, total(2)],
    ];
    test.each(LISTINGS.flatMap(({ path, kinds }) => PARAMETERS.map((row) => [path, ...row, kinds] as const)))(
      '4.9 GET /api%s, %s: %s',
      async (path, _, query, check, kinds) => {
        check(await search(path, query), kinds);
      },
    );

    test.each(LISTINGS)('4.9 GET /api$path, page: has each hit once', async ({ path, kinds }) => {
      const pages = [1, 2, 3].map((page) => search(path, `q=${MANY}&sort=newest&size=8&page=${page}`));
      const ids = (await Promise.all(pages)).flatMap(({ hits }) => hits.hits.map(({ id }) => id));
      expect([ids.length, new Set(ids).size]).toEqual([kinds * MANY_COUNT, kinds * MANY_COUNT]);
    });

    test.each(LISTINGS)('4.9 GET /api$path has hits like the listed entities', async ({ path }) => {
      const found = await search(path, `q=${MANY}&size=30`);
      expect(found).toMatchObject(ANSWERS['search result'].body);
      for (const hit of found.hits.hits) {
        const kind = hit.links['self']?.includes('/packages/') ? 'packages' : 'records';
        const form = hit.is_draft ? 'edit draft' : 'published';
        expect(hit).toMatchObject(entityShape(kind, form));
      }
    });

    test.each(KINDS)('4.3, 4.6 GET /api/user/%s covers drafts and what is published', async (kind) => {
      const { draft, published } = world.kinds[kind].forms;
      const found = await search(`/user/${kind}`, `q=id:("${draft.id}" OR "${published.id}")`);
      expect(found.hits.hits.map(({ id }) => id).sort()).toEqual([draft.id, published.id].sort());
    });

    test('4.9 GET /api/search has both kinds', async () => {
      const { hits } = await search('/search', `q=${PLACED}`);
      const kinds = hits.hits.map((hit) => new URL(link(hit, 'self')).pathname.split('/')[2]);
      expect(kinds.sort()).toEqual(['packages', 'records']);
    });
  });
});

describe('5 authentication', () => {
  const isForUsers = ({ method, path }: Row) =>
    path.includes('/draft') || path.startsWith('/api/user/') || `${method} ${path}` === `POST ${path}`;

  test.each(ENDPOINTS.filter(isForUsers).map((row) => [nameOf(row), row] as const))(
    '5 %s needs credentials',
    async (_, row) => {
      const kind = kindOf(row);
      const place = { ...(await at(kind, 'the draft')), 'link-id': world.kinds[kind].links[0].id };
      const refused = await anonymous.call(row.method, target(row.path, place), sentOf(row, place));
      expect(refused.status).toBe(401);
    },
  );

  test.each([
    { permission: 'view', reads: [200, 403], changes: 403 },
    { permission: 'preview', reads: [200, 200], changes: 403 },
    { permission: 'edit', reads: [200, 200], changes: 200 },
  ])(
    '5 a link with $permission gives its holder these permissions',
    async ({ permission, reads, changes }) => {
      for (const kind of KINDS) {
        const json = {
          ...world.kinds[kind].document('Shared'),
          access: { record: 'restricted', files: 'restricted' },
        };
        const draft = await author.sure<Entity>('POST', `/${kind}`, { json });
        const published = await publish(author, draft);
        await author.sure('POST', link(published, 'draft'));
        const { token } = await author.sure<AccessLink>('POST', link(published, 'access_links'), {
          json: { permission },
        });
        const by = (url: string) => `${url}?token=${token}`;
        const statuses = [
          (await anonymous.call('GET', by(link(published, 'self')))).status,
          (await anonymous.call('GET', by(link(draft, 'self')))).status,
        ];
        const put = await anonymous.call('PUT', by(link(draft, 'self')), { json });
        const without = await anonymous.call('GET', link(published, 'self'));
        expect({ kind, statuses, put: put.status, open: without.status < 300 }).toEqual({
          kind,
          statuses: reads,
          put: changes,
          open: false,
        });
      }
    },
  );

  test('5 what is published and public is open to everybody', async () => {
    for (const kind of KINDS) {
      const { status } = await anonymous.call('GET', link(world.kinds[kind].forms.published, 'self'));
      expect([kind, status]).toEqual([kind, 200]);
    }
  });
});

describe('7 errors', () => {
  test.each(['POST', 'DELETE'])(
    '7 %s of resources answers 200 and lists the refused ones',
    async (method) => {
      const { id } = await at('packages', 'a draft');
      const record = (await at('records', 'a draft')).id;
      const json = { resources: [{ id: record }] };
      const answer = await author.call(method, `/packages/${id}/draft/resources`, { json });
      expect(answer).toMatchObject({
        status: 200,
        body: { errors: [{ record, message: expect.any(String) }] },
      });
    },
  );

  test('7 a package is published whole or not, and what is right is published later', async () => {
    const { main, resources } = await packageOfResources(author, 'Whole', 1);
    const draft = `/records/${resources[0]?.id}/draft`;
    await author.sure('PUT', draft, { json: { metadata: { title: 'Half' } } });
    const refused = await author.call<Failed>('POST', link(main, 'publish'));
    await author.sure('PUT', draft, { json: recordDocument('Right') });
    const done = await author.call('POST', link(main, 'publish'));
    expect([refused.status, refused.body.errors?.[0]?.record, done.status]).toEqual([
      400,
      resources[0]?.id,
      202,
    ]);
  });

  test('7 success statuses', () => {
    expect([...new Set(ENDPOINTS.map(({ status }) => status))].sort()).toEqual([200, 201, 202, 204]);
  });
});

describe('8 limits', () => {
  test.each(['/records', '/packages', '/search', '/user/records', '/user/packages'])(
    '8 GET /api%s shows ten',
    async (path) => {
      expect((await author.sure<Listing>('GET', path)).hits.hits).toHaveLength(10);
    },
  );

  test('8 drafts carry expires_at, which a change keeps in its format', async () => {
    for (const kind of KINDS) {
      const { id } = await at(kind, 'a draft');
      const json = world.kinds[kind].document('Later');
      const changed = await author.sure<Entity>('PUT', `/${kind}/${id}/draft`, { json });
      expect(changed.expires_at).toEqual(ENVELOPE['expires_at']?.(kind, 'draft'));
    }
  });
});

describe.each(KINDS)('9 versioning of %s', (kind) => {
  test('9 versions have their index, their parent and their place', async () => {
    const { id } = await at(kind, 'a published one');
    const next = await author.sure<Entity>('POST', `/${kind}/${id}/versions`);
    expect(next.metadata).not.toHaveProperty('publication_date');
    const json = world.kinds[kind].document('Second');
    await author.sure('PUT', link(next, 'self'), { json });
    const second = await publish(author, next);
    const listing = await until(async () => {
      const found = await author.sure<Listing>('GET', `/${kind}/${id}/versions`);
      return found.hits.total === 2 ? found : undefined;
    });
    const first = await author.sure<Entity>('GET', `/${kind}/${id}`);
    const latest = await author.sure<Entity>('GET', `/${kind}/${id}/versions/latest`);
    expect({
      indexes: [first.versions.index, second.versions.index],
      areLatest: [first.versions.is_latest, second.versions.is_latest],
      parents: [second.parent.id, ...listing.hits.hits.map(({ parent }) => parent.id)],
      listed: [listing.sortBy, listing.hits.hits.map((hit) => hit.versions.index)],
      latest: latest.id,
    }).toEqual({
      indexes: [1, 2],
      areLatest: [false, true],
      parents: Array(3).fill(first.parent.id),
      listed: ['version', [2, 1]],
      latest: second.id,
    });
    for (const hit of listing.hits.hits) expect(hit).toMatchObject(entityShape(kind, 'published'));
  });
});

test('9 a package context is shared by all versions', async () => {
  const { id, resource } = await at('packages', 'a later version');
  const next = await author.sure<Entity>('GET', `/packages/${id}/draft`);
  const context = await author.sure<Listing>('GET', link(next, 'context_resources'));
  expect(context.hits.hits.map((hit) => hit.id)).toEqual([resource]);
});

describe('the tables', () => {
  test('4 have every route of the document, and no other', () => {
    const routes = ENDPOINTS.map(({ method, path }) => `${method} ${path}`);
    expect(routes.toSorted()).toEqual(DOCUMENT_ROUTES.toSorted());
  });

  test('2.4 leads to routes of the document', () => {
    const paths = new Set(DOCUMENT_ROUTES.map((route) => route.split(' ')[1]));
    expect(LEADS_TO.map(([, , , path]) => path).filter((path) => !paths.has(path))).toEqual([]);
  });

  test('9 have no path with a version in it', () => {
    expect(DOCUMENT_ROUTES.filter((route) => /\/v\d/.test(route))).toEqual([]);
  });
});
