import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import fc from 'fast-check';
import { Client } from 'pg';
import type { Entity, Failed, Issue } from './story/answers.ts';
import { databaseDigest } from './story/database-digest.ts';
import { packageDocument, recordDocument } from './story/documents.ts';
import { type HttpClient, httpClient } from './story/http-client.ts';
import { link, packageOfResources, publish, publishedRecord, upload } from './story/stories.ts';

const MESSAGE = "The record can't be published";
const MISSING_FILES =
  'Missing uploaded files. To disable files for this record please mark it as metadata-only.';

let system: TestSystem;
let author: HttpClient;
let databases: Client[];
beforeAll(async () => {
  system = await startSystem();
  author = httpClient(system.baseUrl, system.token);
  const { records, packages, files } = system.databaseUrls;
  databases = [records, packages, files].map((connectionString) => new Client({ connectionString }));
  await Promise.all(databases.map((database) => database.connect()));
});
afterAll(async () => {
  await Promise.all((databases ?? []).map((database) => database.end()));
  await system?.stop();
});

interface Problems {
  errors: { record: string; message: string; errors: Issue[] }[];
}

const validate = (kind: string, id: string, client = author) =>
  client.call<Problems & Failed>('POST', `/${kind}/${id}/draft/actions/validate`);

/**
 * Validates and proves that nothing changed by it. Earlier writes may still be on their way from service to service;
 * what they change is no more than a reason to look again, while a validation that writes would do so every time.
 */
async function validateUnchanged(kind: string, id: string): Promise<Problems['errors']> {
  const [, packages] = databases;
  const open = "select from publication where state not in ('DONE', 'ABORT_DONE')";
  for (let tries = 1; ; tries += 1) {
    await until(async () => (await packages?.query(open))?.rowCount === 0);
    const before = await databaseDigest(databases);
    const { status, body } = await validate(kind, id);
    expect(status).toBe(200);
    const after = await databaseDigest(databases);
    if (tries === 5) expect(after).toEqual(before);
    if (JSON.stringify(after) === JSON.stringify(before)) return body.errors;
  }
}

/** The answer of a publication, in the shape of `validate`. */
function refusal(
  { status, body }: { status: number; body: Failed },
  id: string,
): Problems['errors'] | number {
  if (status === 202) return [];
  if (status !== 400) return status;
  const groups = Map.groupBy(body.errors ?? [], ({ record }) => record ?? id);
  return [...groups].map(([record, issues]) => ({
    record,
    message: MESSAGE,
    errors: issues.map(({ field, messages }) => ({ field, messages })),
  }));
}

const anything = fc.record({
  metadata: fc.constantFrom<Record<string, unknown>>(
    {},
    {},
    {},
    { title: '' },
    { title: undefined, creators: [] },
    { publication_date: '2024-02-30' },
    { resource_type: { id: 'no-such-type' } },
    { contributors: [{ person_or_org: { type: 'personal' } }] },
  ),
  access: fc.constantFrom<object>(
    { record: 'public', files: 'public' },
    { record: 'restricted', files: 'restricted' },
    {
      record: 'restricted',
      files: 'restricted',
      embargo: { active: true, until: '2001-01-01', reason: null },
    },
  ),
  files: fc.constantFrom(
    'none',
    'none',
    'enabled without any',
    'complete',
    'pending',
    'a preview that is missing',
  ),
  pids: fc.constantFrom<object>(
    {},
    {},
    { doi: { identifier: '10.1234/taken', provider: 'external' } },
    { doi: { identifier: 'not a doi', provider: 'external' } },
  ),
});
type Traits = typeof anything extends fc.Arbitrary<infer T> ? T : never;

const RIGHT: Traits = {
  metadata: {},
  access: { record: 'public', files: 'public' },
  files: 'complete',
  pids: {},
};
const traits = fc.oneof(fc.constant(RIGHT), anything);

function documentOf(make: typeof recordDocument, title: string, { metadata, access, files, pids }: Traits) {
  const document = make(title, { metadata });
  const preview = files === 'a preview that is missing' ? { default_preview: 'missing.png' } : {};
  return { ...document, access, pids, files: { enabled: files !== 'none', ...preview } };
}

async function fill(draft: Entity, { files }: Traits): Promise<void> {
  if (files === 'complete' || files === 'a preview that is missing') {
    await upload(author, draft, 'data.txt', Buffer.from('data'));
  }
  if (files === 'pending') await author.sure('POST', link(draft, 'files'), { json: [{ key: 'later.txt' }] });
}

async function draftOf(kind: 'records' | 'packages', title: string, wanted: Traits): Promise<Entity> {
  const make = kind === 'records' ? recordDocument : packageDocument;
  const draft = await author.sure<Entity>('POST', `/${kind}`, { json: documentOf(make, title, wanted) });
  await fill(draft, wanted);
  return draft;
}

describe('validating', () => {
  test('returns for any package the answer of its publication, and changes nothing', async () => {
    const shape = fc.record({
      main: traits,
      resources: fc.array(traits, { maxLength: 3 }),
      holdsPublished: fc.boolean(),
      dissociates: fc.boolean(),
    });
    const outcomes: string[] = [];
    await fc.assert(
      fc.asyncProperty(shape, async ({ main, resources, holdsPublished, dissociates }) => {
        const draft = await draftOf('packages', 'Package', main);
        const drafts: Entity[] = [];
        for (const wanted of resources) drafts.push(await draftOf('records', 'Resource', wanted));
        const managed = drafts.map(({ id }) => ({ id }));
        if (managed.length > 0) {
          await author.sure('POST', link(draft, 'context_associate'), { json: { records: managed } });
        }
        const held = holdsPublished
          ? [...managed, { id: (await publishedRecord(author, 'Old')).id }]
          : managed;
        if (held.length > 0)
          await author.sure('POST', link(draft, 'resources'), { json: { resources: held } });
        if (dissociates && managed.length > 0) {
          await author.sure('POST', link(draft, 'context_dissociate'), {
            json: { records: managed.slice(0, 1) },
          });
        }

        const errors = await validateUnchanged('packages', draft.id);
        const published = await author.call<Failed>('POST', link(draft, 'publish'));
        expect(errors).toEqual(refusal(published, draft.id));
        outcomes.push(errors.length === 0 ? 'published' : 'refused');
        if (errors.length > 0) expect((await validate('packages', draft.id)).body).toEqual({ errors });
      }),
      {
        seed: 1,
        numRuns: 25,
        examples: [
          [{ main: RIGHT, resources: [RIGHT, RIGHT], holdsPublished: true, dissociates: false }],
          [{ main: RIGHT, resources: [RIGHT, RIGHT], holdsPublished: true, dissociates: true }],
        ],
      },
    );
    expect(new Set(outcomes)).toEqual(new Set(['published', 'refused']));
  });

  test('returns for any resource alone the answer of its publication, and changes nothing', async () => {
    await fc.assert(
      fc.asyncProperty(traits, async (wanted) => {
        const draft = await draftOf('records', 'Alone', wanted);
        const errors = await validateUnchanged('records', draft.id);
        expect(errors).toEqual(refusal(await author.call('POST', link(draft, 'publish')), draft.id));
      }),
      { seed: 1, numRuns: 25 },
    );
  });

  test('names the package and each resource with every problem of each', async () => {
    const draft = await author.sure<Entity>('POST', '/packages', {
      json: packageDocument('Package', { metadata: { publication_date: undefined } }),
    });
    const noFiles = recordDocument('Files', { withFiles: true });
    const one = await author.sure<Entity>('POST', '/records', { json: noFiles });
    const json = recordDocument('', { withFiles: true });
    const two = await author.sure<Entity>('POST', '/records', { json });
    const ids = [{ id: one.id }, { id: two.id }];
    await author.sure('POST', link(draft, 'context_associate'), { json: { records: ids } });
    await author.sure('POST', link(draft, 'resources'), { json: { resources: ids } });
    const missing = ['Missing data for required field.'];
    const files = { field: 'files.enabled', messages: [MISSING_FILES] };
    expect((await validate('packages', draft.id)).body).toEqual({
      errors: [
        {
          record: draft.id,
          message: MESSAGE,
          errors: [{ field: 'metadata.publication_date', messages: missing }],
        },
        { record: one.id, message: MESSAGE, errors: [files] },
        {
          record: two.id,
          message: MESSAGE,
          errors: [{ field: 'metadata.title', messages: expect.any(Array) }, files],
        },
      ],
    });
  });

  test('of an edited package leaves its resources alone', async () => {
    const { main } = await packageOfResources(author, 'Edited', 2);
    await publish(author, main);
    await author.sure('POST', `/packages/${main.id}/draft`);
    expect((await validate('packages', main.id)).body).toEqual({ errors: [] });
  });

  test.each(['records', 'packages'] as const)('of %s is for readers of the draft', async (kind) => {
    const make = kind === 'records' ? recordDocument : packageDocument;
    const draft = await author.sure<Entity>('POST', `/${kind}`, { json: make('Private') });
    const stranger = httpClient(system.baseUrl, (await system.createUser(`stranger-${kind}`)).token);
    const { token } = await author.sure<{ token: string }>('POST', link(draft, 'access_links'), {
      json: { permission: 'preview' },
    });
    const anonymous = httpClient(system.baseUrl);
    const statusOf = async (id: string, client: HttpClient, query = '') => {
      const { status, body } = await client.call<Failed>(
        'POST',
        `/${kind}/${id}/draft/actions/validate${query}`,
      );
      return status === 200 ? 200 : `${status} ${body.message}`;
    };
    const other = kind === 'records' ? 'packages' : 'records';
    const others = await author.sure<Entity>('POST', `/${other}`, {
      json: (other === 'records' ? recordDocument : packageDocument)('Other'),
    });
    const published = await publish(
      author,
      await author.sure('POST', `/${kind}`, { json: make('Published') }),
    );
    expect({
      owner: await statusOf(draft.id, author),
      previewer: await statusOf(draft.id, anonymous, `?token=${token}`),
      stranger: await statusOf(draft.id, stranger),
      anonymous: await statusOf(draft.id, anonymous),
      unknown: await statusOf('zzzzz-zzz99', author),
      withoutDraft: await statusOf(published.id, author),
      ofTheOtherKind: await statusOf(others.id, author),
    }).toEqual({
      owner: 200,
      previewer: 200,
      stranger: '403 Permission denied.',
      anonymous: '401 Authentication required.',
      unknown: '404 The persistent identifier does not exist.',
      withoutDraft: '404 Not found.',
      ofTheOtherKind: '404 Not found.',
    });
  });
});
