import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import { type SharedSystem, sharedSystem } from '@kr/testbed/shared-system';
import type { Entity, Failed, FilesListing, Listing } from './story/answers.ts';
import { packageDocument, recordDocument } from './story/documents.ts';
import { type HttpClient, httpClient } from './story/http-client.ts';
import { link, publish, upload } from './story/stories.ts';
import { withoutHints } from './story/without-hints.ts';

const PLAIN = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}$/;
const WITH_OFFSET = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$/;
const ID = /^[0-9a-hjkmnp-tv-z]{5}-[0-9a-hjkmnp-tv-z]{5}$/;

const RECORD_PUBLISHED_LINKS = [
  'latest',
  'versions',
  'self_html',
  'latest_html',
  'self',
  'files',
  'access_links',
];
const PACKAGE_SHARED_LINKS = [
  'self',
  'self_html',
  'self_iiif_manifest',
  'self_iiif_sequence',
  'files',
  'versions',
  'access_links',
  'reserve_doi',
  'context_html',
  'context_resources',
  'context_associate',
  'context_dissociate',
  'resources',
];

const KINDS = [
  {
    kind: 'records',
    parentType: 'resource',
    document: recordDocument,
    instant: PLAIN,
    links: {
      draft: [...RECORD_PUBLISHED_LINKS, 'publish', 'reserve_doi'],
      published: [...RECORD_PUBLISHED_LINKS, 'reserve_doi'],
    },
  },
  {
    kind: 'packages',
    parentType: 'package',
    document: packageDocument,
    instant: WITH_OFFSET,
    links: {
      draft: [
        ...PACKAGE_SHARED_LINKS,
        'files_import',
        'record',
        'record_html',
        'publish',
        'review',
        'resources_import',
      ],
      published: [...PACKAGE_SHARED_LINKS, 'latest', 'latest_html', 'draft', 'requests'],
    },
  },
];

let system: SharedSystem;
let author: HttpClient;
let anonymous: HttpClient;
beforeAll(async () => {
  system = await sharedSystem();
  author = httpClient(system.baseUrl, system.token);
  anonymous = httpClient(system.baseUrl);
});
afterAll(() => system?.stop());

/** The members that identify the states of the interface. */
const state = ({ is_published, is_draft, status, versions }: Entity) => ({
  is_published,
  is_draft,
  status,
  versions,
});

const STATES = {
  draft: {
    is_published: false,
    is_draft: true,
    status: 'draft',
    versions: { index: 1, is_latest: false, is_latest_draft: true },
  },
  published: {
    is_published: true,
    is_draft: false,
    status: 'published',
    versions: { index: 1, is_latest: true, is_latest_draft: true },
  },
  newVersion: {
    is_published: false,
    is_draft: true,
    status: 'new_version_draft',
    versions: { index: 2, is_latest: false, is_latest_draft: true },
  },
};

describe.each(KINDS)('$kind', ({ kind, parentType, document, instant, links }) => {
  const create = (json: object = document('First title')) =>
    author.sure<Entity>('POST', `/${kind}`, { json });

  test('a draft is created with all members of the interface', async () => {
    const { status, body, headers } = await author.call<Entity>('POST', `/${kind}`, {
      json: document('New'),
    });
    expect({ status, state: state(body), etag: headers.get('etag'), errors: body.errors }).toEqual({
      status: 201,
      state: STATES.draft,
      etag: `"${body.revision_id}"`,
      errors: undefined,
    });
    expect(body).toMatchObject({
      id: expect.stringMatching(ID),
      created: expect.stringMatching(instant),
      updated: expect.stringMatching(instant),
      expires_at: expect.stringMatching(PLAIN),
      pids: {},
      parent: {
        id: expect.stringMatching(ID),
        access: { owned_by: [{ user: expect.anything() }], links: [] },
        type: parentType,
      },
      access: {
        record: 'public',
        files: 'public',
        embargo: { active: false, reason: null },
        status: 'metadata-only',
      },
      files: { enabled: false },
    });
    expect(Object.keys(body.links)).toEqual(expect.arrayContaining(links.draft));
    // Only the answer that makes a package has expansions.
    const extra = kind === 'packages' ? { expanded: {} } : {};
    expect({ ...(await author.sure<Entity>('GET', link(body, 'self'))), ...extra }).toEqual(body);
  });

  test('a draft is changed with its revision', async () => {
    const draft = await create();
    const put = (title: string, ifMatch: string) =>
      author.call<Entity & Failed>('PUT', link(draft, 'self'), {
        json: document(title),
        headers: { 'if-match': ifMatch },
      });
    const changed = await put('Second title', `"${draft.revision_id}"`);
    const late = await put('Third title', String(draft.revision_id));
    const now = await author.sure<Entity>('GET', link(draft, 'self'));
    expect({
      statuses: [changed.status, late.status],
      refused: late.body.message,
      title: now.metadata['title'],
      created: now.created,
      isLater: now.updated > draft.updated,
      revision: now.revision_id,
    }).toEqual({
      statuses: [200, 412],
      refused: `Revision id provided(${draft.revision_id}) doesn't match record's one(${changed.body.revision_id})`,
      title: 'Second title',
      created: draft.created,
      isLater: true,
      revision: changed.body.revision_id,
    });
    expect(changed.body.revision_id).toBeGreaterThan(draft.revision_id);
  });

  test('of many writers with one revision one wins', async () => {
    const draft = await create();
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, number) =>
        author.call('PUT', link(draft, 'self'), {
          json: document(`Writer ${number}`),
          headers: { 'if-match': `"${draft.revision_id}"` },
        }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(412)]);
    const { headers } = await author.call('GET', link(draft, 'self'));
    const tags = answers.map((answer) => answer.headers.get('etag'));
    expect(tags).toEqual(Array(8).fill(headers.get('etag')));
  });

  test('it is published, and gets and loses identifiers, only as it was seen', async () => {
    const draft = await create();
    const seen = { headers: { 'if-match': `"${draft.revision_id}"` } };
    const json = document('Changed', { metadata: { publisher: 'River Observatory' } });
    const changed = await author.sure<Entity>('PUT', link(draft, 'self'), { json });
    const current = `"${changed.revision_id}"`;
    const doi = link(draft, 'reserve_doi');
    const late = [
      await author.call('POST', link(draft, 'publish'), seen),
      await author.call('POST', doi, seen),
      await author.call('DELETE', link(draft, 'self'), seen),
      await author.call('GET', link(draft, 'self'), seen),
    ].map(({ status, headers }) => [status, headers.get('etag')]);
    expect(late).toEqual(Array(4).fill([412, current]));

    const reserved = await author.call('POST', doi, { headers: { 'if-match': current } });
    const discarded = await author.call('DELETE', doi, { headers: { 'if-match': current } });
    const now = reserved.headers.get('etag') ?? '';
    const published = await author.call('POST', link(draft, 'publish'), { headers: { 'if-match': now } });
    expect([reserved.status, discarded.status, discarded.headers.get('etag'), published.status]).toEqual([
      201,
      412,
      now,
      202,
    ]);
  });

  test('it is edited and followed by a version only as it was seen', async () => {
    const published = await publish(author, await create());
    const [edit, versions] = [link(published, 'draft'), link(published, 'versions')];
    const post = (url: string, revision: number) =>
      author.call<Entity>('POST', url, { headers: { 'if-match': `"${revision}"` } });
    const { revision_id: seen } = published;
    const late = [await post(edit, seen - 1), await post(versions, seen - 1)];
    expect(late.map(({ status, headers }) => [status, headers.get('etag')])).toEqual(
      Array(2).fill([412, `"${seen}"`]),
    );
    const opened = await post(edit, seen);
    const again = [await post(edit, seen), await post(edit, opened.body.revision_id)];
    const next = await post(versions, seen);
    expect([opened.status, ...again.map(({ status }) => status), next.status]).toEqual([201, 412, 201, 201]);
  });

  test('writers with preconditions never overwrite each other', async () => {
    const draft = await create(document('Writers'));
    const writer = async (name: string): Promise<void> => {
      let seen = `"${draft.revision_id}"`;
      for (let count = 1; count <= 10; ) {
        const before = await author.call<Entity>('GET', link(draft, 'self'), {
          headers: { 'if-match': seen },
        });
        seen = before.headers.get('etag') ?? '';
        if (before.status === 412) continue;
        const title = `${before.body.metadata['title']} ${name}${count}`;
        const sent = { json: document(title), headers: { 'if-match': seen } };
        const { status, headers } = await author.call('PUT', link(draft, 'self'), sent);
        seen = headers.get('etag') ?? '';
        if (status === 200) count += 1;
      }
    };
    await Promise.all([writer('a'), writer('b')]);
    const { metadata } = await author.sure<Entity>('GET', link(draft, 'self'));
    const written = String(metadata['title']).split(' ').slice(1);
    const all = ['a', 'b'].flatMap((name) => Array.from({ length: 10 }, (_, n) => `${name}${n + 1}`));
    expect(written.toSorted()).toEqual(all.toSorted());
  });

  test('a draft may be wrong, keeps what was sent, and is not published until it is right', async () => {
    const { id, metadata, errors } = await create(
      document('Wrong', { metadata: { publication_date: 'yesterday', creators: [] } }),
    );
    const problems = [
      { field: 'metadata.publication_date', messages: ['Please provide a valid date or interval.'] },
      { field: 'metadata.creators', messages: ['Missing data for required field.'] },
    ];
    const byField = (issues: readonly { field: string }[] = []) =>
      [...issues].sort((a, b) => a.field.localeCompare(b.field));
    expect([metadata['publication_date'], byField(errors)]).toEqual(['yesterday', byField(problems)]);
    const later = await author.sure<Entity>('GET', `/${kind}/${id}/draft`);
    const refused = await author.call<Failed>('POST', `/${kind}/${id}/draft/actions/publish`);
    expect([
      byField(later.errors),
      refused.status,
      refused.body.message,
      byField(refused.body.errors),
    ]).toEqual([
      byField(problems),
      400,
      'A validation error occurred.',
      expect.arrayContaining(byField(problems).map((problem) => expect.objectContaining(problem))),
    ]);
    const right = await author.sure<Entity>('PUT', `/${kind}/${id}/draft`, { json: document('Right') });
    const published = await author.call('POST', link(right, 'publish'));
    expect([right.errors, published.status]).toEqual([undefined, 202]);
  });

  test('is published once, and a repeated request answers the same', async () => {
    const draft = await create();
    const first = await author.call<Entity>('POST', link(draft, 'publish'));
    const repeated = await author.call<Entity>('POST', link(draft, 'publish'));
    const gone = await author.call<Failed>('GET', link(draft, 'self'));
    expect({
      statuses: [first.status, repeated.status, gone.status],
      same: repeated.body,
      state: state(first.body),
      gone: gone.body.message,
      pids: Object.keys(first.body.pids),
      expires: first.body.expires_at,
    }).toEqual({
      statuses: [202, 202, 404],
      same: first.body,
      state: STATES.published,
      gone: 'Not found.',
      pids: ['oai'],
      expires: undefined,
    });
    expect(Object.keys(first.body.links)).toEqual(expect.arrayContaining(links.published));
    const read = await author.sure<Entity>('GET', link(first.body, 'self'));
    expect(read).toEqual(first.body);
    expect([read.created, read.updated]).toEqual([
      expect.stringMatching(instant),
      expect.stringMatching(instant),
    ]);
  });

  test('what is published is edited beside it, and changes when the edit is published', async () => {
    const published = await publish(author, await create());
    const opened = await author.call<Entity>('POST', link(published, 'draft'));
    const again = await author.call<Entity>('POST', link(published, 'draft'));
    expect({
      statuses: [opened.status, again.status],
      same: again.body,
      id: opened.body.id,
      pids: opened.body.pids,
      metadata: opened.body.metadata,
      isDraft: opened.body.is_draft,
      isPublished: opened.body.is_published,
    }).toEqual({
      statuses: [201, 201],
      same: opened.body,
      id: published.id,
      pids: published.pids,
      metadata: published.metadata,
      isDraft: true,
      isPublished: kind === 'packages',
    });
    await author.sure('PUT', link(opened.body, 'self'), { json: document('Edited title') });
    const before = await anonymous.sure<Entity>('GET', link(published, 'self'));
    const edited = await publish(author, opened.body);
    const after = await anonymous.sure<Entity>('GET', link(published, 'self'));
    expect({
      before: before.metadata['title'],
      after: after.metadata['title'],
      id: edited.id,
      state: state(edited),
      created: edited.created,
      pids: edited.pids,
    }).toEqual({
      before: 'First title',
      after: 'Edited title',
      id: published.id,
      state: STATES.published,
      created: published.created,
      pids: published.pids,
    });
  });

  test('a discarded edit leaves no trace', async () => {
    const published = await publish(author, await create());
    const edit = await author.sure<Entity>('POST', link(published, 'draft'));
    await author.sure('PUT', link(edit, 'self'), { json: document('Discarded') });
    const statuses = [
      (await author.call('DELETE', link(edit, 'self'))).status,
      (await author.call('DELETE', link(edit, 'self'))).status,
    ];
    expect([statuses, await author.sure<Entity>('GET', link(published, 'self'))]).toEqual([
      [204, 404],
      published,
    ]);
  });

  test('a new version has its own id and date, and takes over when it is published', async () => {
    const first = await publish(author, await create(document('Versioned', { metadata: { version: 'v1' } })));
    const opened = await author.call<Entity>('POST', link(first, 'versions'));
    const again = await author.call<Entity>('POST', link(first, 'versions'));
    const next = opened.body;
    const meanwhile = await author.sure<Entity>('GET', link(first, 'self'));
    expect({
      statuses: [opened.status, again.status],
      same: again.body,
      state: state(next),
      parent: next.parent.id,
      differs: next.id !== first.id,
      dropped: [next.metadata['publication_date'], next.pids],
      title: next.metadata['title'],
      first: meanwhile.versions,
    }).toEqual({
      statuses: [201, 201],
      same: next,
      state: STATES.newVersion,
      parent: first.parent.id,
      differs: true,
      dropped: [undefined, {}],
      title: 'Versioned',
      first: { index: 1, is_latest: true, is_latest_draft: false },
    });

    const undated = await author.call<Failed>('POST', link(next, 'publish'));
    expect([undated.status, undated.body.errors?.map(({ field, messages }) => [field, messages])]).toEqual([
      400,
      [['metadata.publication_date', ['Missing data for required field.']]],
    ]);
    await author.sure('PUT', link(next, 'self'), { json: document('Second version') });
    const second = await publish(author, next);
    const old = await author.sure<Entity>('GET', link(first, 'self'));
    const latest = await anonymous.call<Entity>('GET', link(old, 'latest'));
    expect({
      second: second.versions,
      old: old.versions,
      latest: [latest.status, latest.body.id],
    }).toEqual({
      second: { index: 2, is_latest: true, is_latest_draft: true },
      old: { index: 1, is_latest: false, is_latest_draft: false },
      latest: [200, second.id],
    });

    for (const version of [first, second]) {
      const listed = await until(async () => {
        const listing = await anonymous.sure<Listing>('GET', link(version, 'versions'));
        return listing.hits.total === 2 ? listing : undefined;
      });
      expect([listed.hits.hits.map(({ id }) => id), listed.sortBy]).toEqual([
        [second.id, first.id],
        'version',
      ]);
    }
    const found = async (query: string) =>
      (await anonymous.sure<Listing>('GET', `/${kind}?q=parent.id:"${first.parent.id}"${query}`)).hits.hits
        .map(({ id }) => id)
        .sort();
    await until(async () => (await found('')).includes(second.id));
    expect([await found(''), await found('&allversions=true')]).toEqual([
      [second.id],
      [first.id, second.id].sort(),
    ]);
  });

  test('a discarded new version releases its index', async () => {
    const first = await publish(author, await create());
    const next = await author.sure<Entity>('POST', link(first, 'versions'));
    const status = (await author.call('DELETE', link(next, 'self'))).status;
    const gone = await author.call<Failed>('GET', link(next, 'self'));
    const old = await author.sure<Entity>('GET', link(first, 'self'));
    expect([status, gone.status, gone.body.message, old.versions]).toEqual([
      204,
      404,
      'The persistent identifier does not exist.',
      STATES.published.versions,
    ]);
  });

  test('a draft that is deleted is gone with its files', async () => {
    const draft = await create(document('Short life', { withFiles: true }));
    const entry = await upload(author, draft, 'a.txt', Buffer.from('a'));
    const status = (await author.call('DELETE', link(draft, 'self'))).status;
    const gone = await Promise.all(
      [link(draft, 'self'), link(entry, 'content'), link(draft, 'versions'), `/${kind}/${draft.id}`].map(
        async (target) => (await author.call<Failed>('GET', target)).body.message,
      ),
    );
    expect([status, gone]).toEqual([204, Array(4).fill('The persistent identifier does not exist.')]);
    await until(async () => {
      const own = await author.sure<Listing>('GET', `/user/${kind}?q=id:"${draft.id}"`);
      return own.hits.total === 0;
    });
  });

  test('files of a version are frozen, and are taken into the next one by request', async () => {
    const draft = await create(document('Filed', { withFiles: true }));
    const entry = await upload(author, draft, 'data.csv', Buffer.from('1,2\n'));
    const first = await publish(author, draft);
    const edit = await author.sure<Entity>('POST', link(first, 'draft'));
    const files = link(edit, 'files');
    const refused = [
      await author.call('POST', files, { json: [{ key: 'b.csv' }] }),
      await author.call('DELETE', `${files}/data.csv`),
      await author.call('PUT', `${files}/data.csv/content`, { bytes: Buffer.from('x') }),
    ];
    expect(refused.map(({ status }) => status)).toEqual([403, 403, 403]);
    await author.sure('DELETE', link(edit, 'self'));

    const next = await author.sure<Entity>('POST', link(first, 'versions'));
    const empty = await author.sure<FilesListing>('GET', link(next, 'files'));
    const imported = await author.call<FilesListing>(
      'POST',
      `/${kind}/${next.id}/draft/actions/files-import`,
    );
    const again = await author.call<Failed>('POST', `/${kind}/${next.id}/draft/actions/files-import`);
    expect({
      enabled: next.files.enabled,
      empty: empty.entries,
      imported: [
        imported.status,
        imported.body.entries.map(({ key, checksum, status }) => [key, checksum, status]),
      ],
      again: [again.status, again.body.errors],
    }).toEqual({
      enabled: true,
      empty: [],
      imported: [201, [['data.csv', entry.checksum, 'completed']]],
      again: [400, [{ field: 'files.enabled', messages: ['Please remove all files first.'] }]],
    });
    await author.sure('DELETE', `${link(next, 'files')}/data.csv`);
    await upload(author, next, 'data.csv', Buffer.from('3,4\n'));
    await author.sure('PUT', link(next, 'self'), { json: document('Filed again', { withFiles: true }) });
    const second = await publish(author, next);
    const contents = await Promise.all(
      [first, second].map(
        async ({ id }) => (await anonymous.call('GET', `/${kind}/${id}/files/data.csv/content`)).text,
      ),
    );
    expect(contents).toEqual(['1,2\n', '3,4\n']);
  });

  test('entries have the states of the interface', async () => {
    const draft = await create(document('Entries', { withFiles: true }));
    const started = await author.call<FilesListing>('POST', link(draft, 'files'), {
      json: [{ key: 'b.png' }, { key: 'a.txt' }],
    });
    const [b, a] = started.body.entries;
    expect([started.status, started.body.enabled, started.body.default_preview, b?.key, a]).toEqual([
      201,
      true,
      null,
      'b.png',
      {
        key: 'a.txt',
        created: expect.stringMatching(PLAIN),
        updated: expect.stringMatching(PLAIN),
        status: 'pending',
        metadata: null,
        links: expect.objectContaining({
          self: `${link(draft, 'files')}/a.txt`,
          content: `${link(draft, 'files')}/a.txt/content`,
          commit: `${link(draft, 'files')}/a.txt/commit`,
        }),
      },
    ]);
    const uncommitted = await author.call('POST', `${link(draft, 'files')}/a.txt/commit`);
    await author.sure('PUT', `${link(draft, 'files')}/a.txt/content`, { bytes: Buffer.from('first') });
    await author.sure('PUT', `${link(draft, 'files')}/a.txt/content`, { bytes: Buffer.from('hello') });
    const completed = await author.sure('POST', `${link(draft, 'files')}/a.txt/commit`);
    const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/);
    expect([uncommitted.status, completed]).toEqual([
      400,
      {
        key: 'a.txt',
        storage_class: 'S',
        checksum: 'md5:5d41402abc4b2a76b9719d911017c592',
        size: 5,
        created: expect.stringMatching(PLAIN),
        updated: expect.stringMatching(PLAIN),
        status: 'completed',
        metadata: {},
        mimetype: 'text/plain',
        version_id: uuid,
        file_id: uuid,
        bucket_id: uuid,
        links: expect.anything(),
      },
    ]);
  });

  test('a DOI is reserved, kept by edits, discarded, and stays once it is published', async () => {
    const draft = await create();
    const reserved = await author.call<Entity>('POST', link(draft, 'reserve_doi'));
    const twice = await author.call<Failed>('POST', link(draft, 'reserve_doi'));
    const put = await author.sure<Entity>('PUT', link(draft, 'self'), {
      json: document('With DOI', { metadata: { publisher: 'Us' } }),
    });
    const discarded = await author.call<Entity>('DELETE', link(draft, 'reserve_doi'));
    const nothing = await author.call<Failed>('DELETE', link(draft, 'reserve_doi'));
    const doi = { identifier: `10.5072/${draft.id}`, provider: 'local', client: 'local' };
    expect({
      reserved: [reserved.status, reserved.body.pids, reserved.body.links['doi']],
      twice: [twice.status, withoutHints(twice.body.errors)],
      put: put.pids,
      discarded: [discarded.status, discarded.body.pids],
      nothing: [nothing.status, nothing.body.message],
    }).toEqual({
      reserved: [201, { doi }, `https://doi.org/${doi.identifier}`],
      twice: [400, [{ field: 'pids.doi', messages: ['A PID already exists for type doi'] }]],
      put: { doi },
      discarded: [200, {}],
      nothing: [404, 'The persistent identifier does not exist.'],
    });
    await author.sure('POST', link(draft, 'reserve_doi'));
    const published = await publish(author, draft);
    const edit = await author.sure<Entity>('POST', link(published, 'draft'));
    const kept = await author.call<Failed>('DELETE', link(draft, 'reserve_doi'));
    await author.sure('PUT', link(edit, 'self'), {
      json: { ...document('Without pids', { metadata: { publisher: 'Us' } }), pids: {} },
    });
    const edited = await publish(author, edit);
    expect({
      published: published.pids['doi'],
      kept: kept.status,
      edited: edited.pids,
      links: [edited.links['doi'], edited.links['self_doi']],
    }).toEqual({
      published: doi,
      kept: 400,
      edited: published.pids,
      links: [`https://doi.org/${doi.identifier}`, `${system.baseUrl}/doi/${doi.identifier}`],
    });
  });

  test('the personal listing has each entity once, as its draft if there is one', async () => {
    const mark = `Own${kind}listing`;
    const draft = await create(document(mark));
    const published = await publish(author, await create(document(mark)));
    const editing = await publish(author, await create(document(mark)));
    await author.sure('POST', link(editing, 'draft'));
    const listed = await until(async () => {
      const { hits } = await author.sure<Listing>('GET', `/user/${kind}?q=${mark}`);
      const hit = hits.hits.find(({ id }) => id === editing.id);
      return hits.total === 3 && hit?.is_draft === true ? hits.hits : undefined;
    });
    const forms = Object.fromEntries(listed.map(({ id, is_draft }) => [id, is_draft]));
    const stranger = httpClient(system.baseUrl, (await system.createUser(`stranger-${kind}`)).token);
    const others = await stranger.sure<Listing>('GET', `/user/${kind}?q=${mark}`);
    expect([forms, others.hits.total]).toEqual([
      { [draft.id]: true, [published.id]: false, [editing.id]: true },
      0,
    ]);
  });

  test('a preview leaves the draft with its file, whether all are deleted or one, also without an event', async () => {
    const json = document('With previews', { withFiles: true });
    const draft = await create({ ...json, files: { enabled: true, default_preview: 'a.txt' } });
    const previews: unknown[] = [];
    const look = async () => {
      const { files, errors } = await author.sure<Entity>('GET', link(draft, 'self'));
      const told = errors?.filter(({ field }) => field === 'files.default_preview') ?? [];
      previews.push([files.default_preview, told]);
    };
    const entry = await upload(author, draft, 'a.txt', Buffer.from('a'));
    system.kill('nats', 'SIGSTOP');
    try {
      await author.sure('DELETE', link(entry, 'self'));
      await look();
      await author.sure('PUT', link(draft, 'self'), {
        json: { ...json, files: { enabled: true, default_preview: 'b.txt' } },
      });
      await upload(author, draft, 'b.txt', Buffer.from('b'));
      await author.sure('DELETE', link(draft, 'files'));
      await look();
    } finally {
      system.kill('nats', 'SIGCONT');
    }
    expect(previews).toEqual(Array(2).fill([undefined, []]));
  });

  test('a reader may query for changes', async () => {
    const published = await publish(author, await create());
    const read = await anonymous.call('GET', link(published, 'self'));
    const etag = read.headers.get('etag') ?? '';
    const same = await anonymous.call('GET', link(published, 'self'), { headers: { 'if-none-match': etag } });
    const head = await anonymous.call('HEAD', link(published, 'self'));
    expect([same.status, same.text, head.status, head.text, head.headers.get('etag')]).toEqual([
      304,
      '',
      200,
      '',
      etag,
    ]);
  });
});
