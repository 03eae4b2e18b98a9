import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  ANONYMOUS,
  callOf,
  GOOD_BODY,
  GOOD_METADATA,
  type LifecycleFixture,
  lifecycleFixture,
  OWNER,
  STRANGER,
} from './lifecycle-fixture.ts';

let life: LifecycleFixture;
beforeAll(async () => {
  life = await lifecycleFixture();
});
afterAll(() => life.close());

describe('a draft', () => {
  test('is created, with the keys of the document in their order', async () => {
    const { id, parentId, json, revision, isPublic } = await life.create();
    expect(Object.keys(json)).toEqual([
      'id',
      'created',
      'updated',
      'revision_id',
      'parent',
      'versions',
      'is_published',
      'is_draft',
      'expires_at',
      'pids',
      'metadata',
      'custom_fields',
      'access',
      'files',
      'status',
      'relationship',
    ]);
    expect({ ...json, metadata: undefined, revision, isPublic }).toEqual({
      id,
      created: '2026-01-01T00:00:00.000000Z',
      updated: '2026-01-01T00:00:00.000000Z',
      revision_id: 1,
      parent: {
        id: parentId,
        access: { owned_by: [{ user: 'owner' }], links: [] },
        communities: {},
        type: 'resource',
        category: 'open',
        harvester: {},
        relationship: { managed_by: {} },
      },
      versions: { is_latest: false, is_latest_draft: true, index: 1 },
      is_published: false,
      is_draft: true,
      expires_at: '2026-01-01T00:00:00.000000Z',
      pids: {},
      metadata: undefined,
      custom_fields: {},
      access: {
        record: 'public',
        files: 'public',
        embargo: { active: false, reason: null },
        status: 'metadata-only',
      },
      files: { enabled: false, order: [] },
      status: 'draft',
      relationship: { packages: [] },
      revision: 1,
      isPublic: false,
    });
    expect(await life.read(id, 'draft')).toMatchObject({ json });
  });

  test.each([[''], ['null'], ['[]'], ['{}']])('may be empty: %j', async (body) => {
    const { json } = await life.create(body);
    expect(json).toMatchObject({ files: { enabled: true, order: [] }, status: 'draft' });
    expect(json).not.toHaveProperty('errors');
  });

  test.each([
    ['"abc"', 'A validation error occurred.'],
    ['[1]', 'A validation error occurred.'],
    ['7', 'A validation error occurred.'],
    ['{', 'Unable to decode JSON data in request body.'],
  ])('is refused when the body is %s', async (body, message) => {
    await expect(life.create(body)).rejects.toMatchObject({ kind: 'invalid', message });
  });

  test('needs a user', async () => {
    await expect(life.create(GOOD_BODY, ANONYMOUS)).rejects.toMatchObject({ kind: 'unauthenticated' });
  });

  test('keeps the sent content and returns its problems, also later; unknown fields once', async () => {
    const body = { ...GOOD_BODY, metadata: { ...GOOD_METADATA, title: 'x', foo: 1 } };
    const { id, json } = await life.create(body);
    expect(json['metadata']).toMatchObject({ title: 'x' });
    expect(json['errors']).toEqual([
      { field: 'metadata.title', messages: ['Shorter than minimum length 3.'] },
      { field: 'metadata.foo', messages: ['Unknown field.'] },
    ]);
    const later = await life.read(id, 'draft');
    expect(later).toMatchObject({
      json: { errors: [{ field: 'metadata.title', messages: ['Shorter than minimum length 3.'] }] },
    });
  });

  test('is replaced as a whole; access stays when it is not sent', async () => {
    const { id } = await life.create({ ...GOOD_BODY, access: { record: 'restricted', files: 'restricted' } });
    life.world.now = new Date('2026-01-02T00:00:00Z');
    const { json } = await life.update(id, { id: 'other', owner: 'me', files: { enabled: false } });
    life.world.now = new Date('2026-01-01T00:00:00Z');
    expect(json).toMatchObject({
      id,
      revision_id: 2,
      created: '2026-01-01T00:00:00.000000Z',
      updated: '2026-01-02T00:00:00.000000Z',
      access: { record: 'restricted', files: 'restricted', status: 'restricted' },
    });
    expect(json['metadata']).not.toHaveProperty('title');
  });

  test('checks id, then permission, then revision, then body, and reveals no revision to strangers', async () => {
    const { id } = await life.create();
    const wrong = {
      kind: 'precondition_failed',
      message: "Revision id provided(7) doesn't match record's one(1)",
    };
    await expect(life.update('zzzzz-zzzzz', '{', 7, STRANGER)).rejects.toMatchObject({
      kind: 'not_found',
      message: 'The persistent identifier does not exist.',
    });
    const forbidden = { kind: 'forbidden', currentRevision: undefined };
    await expect(life.update(id, '{', 7, STRANGER)).rejects.toMatchObject(forbidden);
    await expect(life.update(id, '{', 1, STRANGER)).rejects.toMatchObject(forbidden);
    await expect(life.update(id, '{', 7)).rejects.toMatchObject(wrong);
    await expect(life.update(id, '{', 1)).rejects.toMatchObject({ kind: 'invalid' });
    await expect(life.update(id, GOOD_BODY, 1)).resolves.toMatchObject({ revision: 2 });
  });

  test('returns the same document when a read document is sent back', async () => {
    const { id, json } = await life.create();
    const { json: again } = await life.update(id, json);
    expect({ ...again, revision_id: 1 }).toEqual(json);
  });

  test('loses no edit under concurrent changes', async () => {
    const { id } = await life.create();
    const edits = Array.from({ length: 10 }, (_, n) =>
      life.update(id, { ...GOOD_BODY, metadata: { ...GOOD_METADATA, title: `Edit ${n}` } }),
    );
    const revisions = (await Promise.all(edits)).map(({ revision }) => revision);
    expect(revisions.sort((a, b) => a - b)).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  });

  test('with If-Match lets one of several through', async () => {
    const { id } = await life.create();
    const edits = await Promise.allSettled(Array.from({ length: 5 }, () => life.update(id, GOOD_BODY, 1)));
    expect(edits.map(({ status }) => status).sort()).toEqual([
      'fulfilled',
      'rejected',
      'rejected',
      'rejected',
      'rejected',
    ]);
  });

  test('reports missing files once they could have been uploaded', async () => {
    const body = { files: { enabled: true, default_preview: 'map.png' }, metadata: GOOD_METADATA };
    const { id } = await life.create({ files: { enabled: true }, metadata: GOOD_METADATA });
    expect((await life.update(id, body)).json['errors']).toEqual([
      {
        field: 'files.enabled',
        messages: [
          'Missing uploaded files. To disable files for this record please mark it as metadata-only.',
        ],
      },
      { field: 'files.default_preview', messages: ['No file with key "map.png"'] },
    ]);
    life.counts.set(id, { entries: 1, pending: 0, totalBytes: 5, keys: ['map.png'] });
    const later = await life.read(id, 'draft');
    expect(later).toMatchObject({
      json: { files: { enabled: true, default_preview: 'map.png' }, access: { status: 'open' } },
    });
    expect(later).not.toHaveProperty('json.errors');
    const disabled = await life.update(id, { ...body, files: { enabled: false } });
    expect(disabled.json).toMatchObject({
      files: { enabled: true },
      errors: [
        {
          field: 'files.enabled',
          messages: ['You must first delete all files to set the record to be metadata-only.'],
        },
      ],
    });
  });

  test('of a never published entity goes with everything', async () => {
    const { id, parentId } = await life.create();
    await life.handlers.DeleteDraft({ id, ifRevision: '0' }, callOf(OWNER));
    const gone = 'not_found: The persistent identifier does not exist.';
    expect([await life.read(id, 'draft'), await life.read(id, 'published')]).toEqual([gone, gone]);
    expect(await life.prisma.parent.findUnique({ where: { id: parentId } })).toBeNull();
  });
});

describe('reading', () => {
  test('answers each ref in its place, with the error where there is one', async () => {
    const { id, parentId } = await life.create();
    life.world.elsewhere.add('7xbhb-aqp29');
    const refs = [
      { id, form: 'FORM_DRAFT' },
      { id, form: 'FORM_PUBLISHED' },
      { id: parentId, form: 'FORM_PUBLISHED' },
      { id: '7xbhb-aqp29', form: 'FORM_PUBLISHED' },
      { id: 'zzzzz-zzzzz', form: 'FORM_DRAFT' },
    ] as const;
    const { results } = await life.handlers.ReadEntities({ refs: [...refs] }, callOf(OWNER));
    expect(results?.map(({ document, error }) => document?.id ?? error?.message)).toEqual([
      id,
      'The persistent identifier is not registered.',
      'Not found.',
      'Not found.',
      'The persistent identifier does not exist.',
    ]);
  });

  test('sends as many statements for fifty entities as for one', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 50; n += 1) ids.push((await life.create()).id);
    const readAll = (some: string[]) => () =>
      life.handlers.ReadEntities(
        { refs: some.map((id) => ({ id, form: 'FORM_DRAFT' as const })) },
        callOf(OWNER),
      );
    const one = await life.statementsOf(readAll(ids.slice(0, 1)));
    const fifty = await life.statementsOf(readAll(ids));
    expect([one.length, fifty.length]).toEqual([1, 1]);
  });

  test('checks permission and returns revisions without documents', async () => {
    const { id } = await life.create();
    const check = async (caller: typeof OWNER) => {
      const refs = [{ id, form: 'FORM_DRAFT' as const }];
      const { results } = await life.handlers.ReadEntities({ refs, omitJson: true }, callOf(caller));
      return results?.map(({ document, error }) => error?.kind ?? [document?.revision, document?.json]);
    };
    expect([await check(OWNER), await check(STRANGER)]).toEqual([[['1', undefined]], ['forbidden']]);
  });

  test('reads any number in one statement', async () => {
    const refs = [(await life.create()).id, (await life.create()).id].map((id) => ({
      id,
      form: 'FORM_DRAFT' as const,
    }));
    const statements = await life.statementsOf(async () => {
      expect((await life.handlers.ReadEntities({ refs }, callOf(OWNER))).results).toHaveLength(2);
    });
    expect(statements).toHaveLength(1);
  });

  test('shows a stranger nothing of a draft', async () => {
    const { id } = await life.create();
    expect([await life.read(id, 'draft', STRANGER), await life.read(id, 'draft', ANONYMOUS)]).toEqual([
      'forbidden: Permission denied.',
      'unauthenticated: Authentication required.',
    ]);
  });
});

describe('a reserved DOI', () => {
  const reserve = (id: string, scheme = 'doi') =>
    life.handlers.ReservePid({ id, scheme, ifRevision: '0' }, callOf(OWNER));
  const discard = (id: string, scheme = 'doi') =>
    life.handlers.DiscardPid({ id, scheme, ifRevision: '0' }, callOf(OWNER));

  test('is the local one, once, survives a PUT without it, and can be discarded', async () => {
    const { id } = await life.create();
    await expect(discard(id)).rejects.toMatchObject({ message: 'The persistent identifier does not exist.' });
    await reserve(id);
    await expect(reserve(id)).rejects.toMatchObject({
      issues: [{ field: 'pids.doi', messages: ['A PID already exists for type doi'] }],
    });
    const doi = { identifier: `10.5072/${id}`, provider: 'local', client: 'local' };
    expect((await life.update(id, GOOD_BODY)).json['pids']).toEqual({ doi });
    expect((await life.update(id, { ...GOOD_BODY, pids: {} })).doi).toBe(`10.5072/${id}`);
    await discard(id);
    expect(await life.read(id, 'draft')).toMatchObject({ json: { pids: {} } });
    await reserve(id);
  });

  test('of an unknown scheme is not found', async () => {
    const { id } = await life.create();
    await expect(reserve(id, 'handle')).rejects.toMatchObject({ kind: 'not_found', message: 'Not found.' });
    await reserve(id);
    for (const scheme of ['handle', 'toString', '__proto__', 'constructor'])
      await expect(discard(id, scheme)).rejects.toMatchObject({
        kind: 'not_found',
        message: 'The persistent identifier does not exist.',
      });
  });

  test('that another entity has from outside is taken', async () => {
    const body = { ...GOOD_BODY, pids: { doi: { identifier: '10.1234/x', provider: 'external' } } };
    await life.publish((await life.create(body)).id);
    const { id, json } = await life.create(body);
    expect(json).toMatchObject({
      pids: { doi: { identifier: '10.1234/x', provider: 'external' } },
      errors: [{ field: 'pids.doi', messages: ['doi:10.1234/x already exists.'] }],
    });
    const vote = await life.prepare([id], 'taken');
    expect(vote.issues).toEqual([
      { record: id, field: 'pids.doi', messages: ['doi:10.1234/x already exists.'] },
    ]);
  });
});
