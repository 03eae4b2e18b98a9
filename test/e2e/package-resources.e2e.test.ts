import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import { type SharedSystem, sharedSystem } from '@kr/testbed/shared-system';
import type { Entity, Failed, Issue, Listing } from './story/answers.ts';
import { packageDocument, recordDocument } from './story/documents.ts';
import { type HttpClient, httpClient } from './story/http-client.ts';
import { link, packageOfResources, publish, publishedRecord, relate, upload } from './story/stories.ts';
import { withoutHints } from './story/without-hints.ts';

const DRAFT_REFUSED = "This record is a draft and can't be linked to the package as a resource.";
const RESTRICTED = { record: 'restricted', files: 'restricted' };
const UNKNOWN = 'zzzzz-zzz99';

let system: SharedSystem;
let author: HttpClient;
let stranger: HttpClient;
let anonymous: HttpClient;
beforeAll(async () => {
  system = await sharedSystem();
  author = httpClient(system.baseUrl, system.token);
  stranger = httpClient(system.baseUrl, (await system.createUser('stranger')).token);
  anonymous = httpClient(system.baseUrl);
});
afterAll(() => system?.stop());

const newPackage = (client = author, title = 'Package') =>
  client.sure<Entity>('POST', '/packages', { json: packageDocument(title) });
const newRecord = (client = author, title = 'Resource') =>
  client.sure<Entity>('POST', '/records', { json: recordDocument(title) });
const listOf = (...entities: { id: string }[]) => entities.map(({ id }) => ({ id }));
const idsOf = (entities: readonly { id: string }[]) => entities.map(({ id }) => id).sort();

const associate = (main: Entity, records: unknown, client = author) =>
  client.call<Failed>('POST', link(main, 'context_associate'), { json: { records } });
const dissociate = (main: Entity, records: unknown, client = author) =>
  client.call<Failed>('POST', link(main, 'context_dissociate'), { json: { records } });
type Changed = { errors: { record: string; message: string }[] } & Failed;
const add = (main: Entity, resources: unknown, client = author) =>
  client.call<Changed>('POST', `/packages/${main.id}/draft/resources`, { json: { resources } });
const remove = (main: Entity, resources: unknown, client = author) =>
  client.call<Changed>('DELETE', `/packages/${main.id}/draft/resources`, { json: { resources } });

async function listed(target: string, client = author): Promise<string[]> {
  return idsOf((await client.sure<Listing>('GET', target)).hits.hits);
}
const inDraft = (main: Entity, client?: HttpClient) => listed(`/packages/${main.id}/draft/resources`, client);
const inContext = (main: Entity, client?: HttpClient) => listed(link(main, 'context_resources'), client);
const managerOf = async ({ id }: Entity) =>
  (await author.sure<{ parent: { relationship: object } }>('GET', `/records/${id}/draft`)).parent
    .relationship;
const packagesOf = async ({ id }: Entity, form = '/draft') =>
  (await author.sure<Entity>('GET', `/records/${id}${form}`)).relationship.packages;

describe('the context of a package', () => {
  test('takes drafts in, shows them at once on both sides, and lets them go', async () => {
    const main = await newPackage();
    const [one, two] = [await newRecord(), await newRecord()];
    const statuses = [
      (await associate(main, listOf(one, two))).status,
      (await associate(main, listOf(one))).status,
    ];
    expect({
      statuses,
      context: await inContext(main),
      draft: await inDraft(main),
      manager: await managerOf(one),
    }).toEqual({
      statuses: [204, 204],
      context: idsOf([one, two]),
      draft: [],
      manager: { managed_by: { id: main.parent.id } },
    });
    await add(main, listOf(one, two));
    const gone = [(await dissociate(main, listOf(one))).status, (await dissociate(main, listOf(one))).status];
    const read = await author.sure<Entity>('GET', link(main, 'self'));
    expect({
      gone,
      context: await inContext(main),
      draft: await inDraft(main),
      resources: read.relationship.resources,
      packages: await packagesOf(one),
      left: Object.keys(await managerOf(one)),
    }).toEqual({
      gone: [204, 204],
      context: [two.id],
      draft: [two.id],
      resources: [{ id: two.id }],
      packages: [],
      left: [],
    });
    expect((await author.call('POST', link(one, 'publish'))).status).toBe(202);
  });

  test('is one for all versions, and works without a draft', async () => {
    const first = await publish(author, await newPackage());
    const record = await newRecord();
    const status = (await associate(first, listOf(record))).status;
    const next = await author.sure<Entity>('POST', link(first, 'versions'));
    const added = await add(next, listOf(record));
    expect([status, added.body, await inContext(next), await inContext(first)]).toEqual([
      204,
      { errors: [] },
      [record.id],
      [record.id],
    ]);
  });

  test('refuses the whole request for one resource that may not be added, naming each', async () => {
    const [main, other] = [await newPackage(), await newPackage()];
    const [good, taken, published, foreign] = [
      await newRecord(),
      await newRecord(),
      await publishedRecord(author, 'Published'),
      await newRecord(stranger),
    ];
    await associate(other, listOf(taken));
    const shown = async (...entities: { id: string }[]) => {
      const { status, body } = await associate(main, listOf(good, ...entities));
      return { status, named: body.errors?.map(({ record }) => record) ?? body.message };
    };
    expect({
      published: await shown(published),
      taken: await shown(taken),
      foreign: await shown(foreign),
      several: await shown(published, taken),
      unknown: await shown({ id: UNKNOWN }),
      ofPackage: await shown(other),
      context: await inContext(main),
    }).toEqual({
      published: { status: 400, named: [published.id] },
      taken: { status: 400, named: [taken.id] },
      foreign: { status: 403, named: [foreign.id] },
      several: { status: 400, named: [published.id, taken.id] },
      unknown: { status: 404, named: 'The persistent identifier does not exist.' },
      ofPackage: { status: 404, named: 'Not found.' },
      context: [],
    });
  });

  test.each<{ body: object; errors: Issue[] }>([
    { body: {}, errors: [{ field: 'records', messages: ['Missing data for required field.'] }] },
    {
      body: { records: [] },
      errors: [{ field: 'records', messages: ['Length must be between 1 and 100.'] }],
    },
    {
      body: { records: Array.from({ length: 101 }, () => ({ id: UNKNOWN })) },
      errors: [{ field: 'records', messages: ['Length must be between 1 and 100.'] }],
    },
    {
      body: { records: [{}] },
      errors: [{ field: 'records.0.id', messages: ['Missing data for required field.'] }],
    },
    { body: { records: ['x'] }, errors: [{ field: 'records.0._schema', messages: ['Invalid input type.'] }] },
    {
      body: { records: [{ id: UNKNOWN }], resources: [] },
      errors: [{ field: 'resources', messages: ['Unknown field.'] }],
    },
  ])('refuses a body such as %#', async ({ body, errors }) => {
    const main = await newPackage();
    for (const action of ['context_associate', 'context_dissociate']) {
      const answer = await author.call<Failed>('POST', link(main, action), { json: body });
      expect([answer.status, withoutHints(answer.body)]).toEqual([
        400,
        { status: 400, message: 'A validation error occurred.', code: 'invalid', errors },
      ]);
    }
  });

  test('is not for strangers', async () => {
    const main = await newPackage();
    const mine = await newRecord(stranger);
    const empty = await associate(main, [], stranger);
    expect([
      (await associate(main, listOf(mine), stranger)).status,
      (await dissociate(main, listOf(mine), stranger)).status,
      (await add(main, listOf(mine), stranger)).status,
      empty.status,
      await inContext(main, stranger),
      (await anonymous.call('GET', link(main, 'context_resources'))).status,
    ]).toEqual([403, 403, 403, 403, [], 401]);
  });

  test('of two packages that want one draft at once, one gets it', async () => {
    for (let round = 0; round < 5; round += 1) {
      const packages = await Promise.all([newPackage(), newPackage(), newPackage()]);
      const record = await newRecord();
      const answers = await Promise.all(packages.map((main) => associate(main, listOf(record))));
      const contexts = await Promise.all(packages.map((main) => inContext(main)));
      expect({
        statuses: answers.map(({ status }) => status).sort(),
        holders: contexts.filter((ids) => ids.includes(record.id)).length,
      }).toEqual({ statuses: [204, 400, 400], holders: 1 });
    }
  });
});

describe('the resources of a version', () => {
  test('are added and removed one by one; what cannot be is named, the others are done', async () => {
    const main = await newPackage();
    const [managed, loose, published] = [
      await newRecord(),
      await newRecord(),
      await publishedRecord(stranger, 'Of others'),
    ];
    await associate(main, listOf(managed));
    const before = await anonymous.call<Entity>('GET', link(published, 'self'));
    const added = await add(main, listOf(managed, loose, published, managed));
    const after = await anonymous.call<Entity>('GET', link(published, 'self'));
    expect({
      status: added.status,
      body: added.body,
      draft: await inDraft(main),
      order: (await author.sure<Entity>('GET', link(main, 'self'))).relationship.resources,
      mirror: await packagesOf(managed),
      unchanged: [after.body.revision_id, after.body.updated],
    }).toEqual({
      status: 200,
      body: { errors: [{ record: loose.id, message: DRAFT_REFUSED }] },
      draft: idsOf([managed, published]),
      order: listOf(managed, published),
      mirror: [{ id: main.id }],
      unchanged: [before.body.revision_id, before.body.updated],
    });
    const removed = await remove(main, listOf(managed, loose, published));
    expect({
      status: removed.status,
      body: removed.body,
      draft: await inDraft(main),
      context: await inContext(main),
      mirror: await packagesOf(managed),
    }).toEqual({
      status: 200,
      body: { errors: [{ record: loose.id, message: DRAFT_REFUSED }] },
      draft: [],
      context: [managed.id],
      mirror: [],
    });
  });

  test('are refused as a whole where one is unknown or hidden from the caller', async () => {
    const main = await newPackage();
    const open = await publishedRecord(stranger, 'Open');
    const hidden = await publish(
      stranger,
      await stranger.sure<Entity>('POST', '/records', {
        json: recordDocument('Hidden', { access: RESTRICTED }),
      }),
    );
    const answers = [
      await add(main, listOf(open, { id: UNKNOWN })),
      await add(main, listOf(open, hidden)),
      await add(main, listOf(open, main)),
      await add(main, []),
    ];
    expect([answers.map(({ status }) => status), await inDraft(main)]).toEqual([[404, 403, 404, 400], []]);
  });

  test('of a published version are frozen; the next version imports them', async () => {
    const { main, resources } = await packageOfResources(author, 'Frozen', 2);
    const extra = await publishedRecord(author, 'Extra');
    const first = await publish(author, main);
    const withoutDraft = await add(first, listOf(extra));
    const edit = await author.sure<Entity>('POST', link(first, 'draft'));
    const [one] = resources;
    const frozen = [await add(edit, listOf(extra)), await remove(edit, listOf(one ?? extra))];
    await author.sure('DELETE', link(edit, 'self'));

    const next = await author.sure<Entity>('POST', link(first, 'versions'));
    const empty = next.relationship.resources;
    const imports = `/packages/${next.id}/draft/actions/resources-import`;
    const ofStranger = (await stranger.call('POST', imports)).status;
    const imported = [
      (await author.call('POST', imports)).status,
      (await author.call('POST', imports)).status,
    ];
    const draft = await inDraft(next);
    await remove(next, listOf(one ?? extra));
    await add(next, listOf(extra));
    await author.sure('PUT', link(next, 'self'), { json: packageDocument('Frozen, second') });
    const second = await publish(author, next);
    const firstNow = await anonymous.sure<Entity>('GET', link(first, 'self'));
    expect({
      withoutDraft: [withoutDraft.status, withoutDraft.body.message],
      frozen: frozen.map(({ status, body }) => [status, body.errors]),
      empty,
      ofStranger,
      imported,
      draft,
      first: idsOf(firstNow.relationship.resources ?? []),
      second: idsOf(second.relationship.resources ?? []),
      listings: [
        await listed(`/packages/${first.id}/resources`, anonymous),
        await listed(`/packages/${second.id}/resources`, anonymous),
      ],
      ofFirstVersion: (
        await author.call('POST', `/packages/${(await newPackage()).id}/draft/actions/resources-import`)
      ).status,
    }).toEqual({
      withoutDraft: [404, 'Not found.'],
      frozen: [
        [200, [{ record: extra.id, message: "This resource can't be associated with the package." }]],
        [200, [{ record: one?.id, message: "This resource can't be removed from the package." }]],
      ],
      empty: [],
      ofStranger: 403,
      imported: [204, 204],
      draft: idsOf(resources),
      first: idsOf(resources),
      second: idsOf([...resources.slice(1), extra]),
      listings: [idsOf(resources), idsOf([...resources.slice(1), extra])],
      ofFirstVersion: 404,
    });
  });

  test('are listed a page at a time, sorted and searched like any listing', async () => {
    const { main, resources } = await packageOfResources(author, 'Paged', 5);
    const target = `/packages/${main.id}/draft/resources`;
    const pages = await Promise.all(
      [1, 2, 3].map((page) => author.sure<Listing>('GET', `${target}?size=2&page=${page}&sort=oldest`)),
    );
    const found = await author.sure<Listing>('GET', `${target}?q="part 3"`);
    expect({
      pages: pages.flatMap(({ hits }) => hits.hits.map(({ id }) => id)),
      totals: pages.map(({ hits }) => hits.total),
      found: found.hits.hits.map(({ metadata }) => metadata['title']),
      bad: (await author.call('GET', `${target}?sort=sideways`)).status,
    }).toEqual({
      pages: resources.map(({ id }) => id),
      totals: [5, 5, 5],
      found: ['Paged, part 3'],
      bad: 400,
    });
  });
});

describe('publishing a package', () => {
  test('fails as a whole with all problems of all its resources, and succeeds once repaired', async () => {
    const { main, resources } = await packageOfResources(author, 'Flawed', 3);
    const [undated, fileless, sound] = resources as [Entity, Entity, Entity];
    await author.sure('PUT', link(main, 'self'), {
      json: packageDocument('Flawed', { metadata: { creators: [] } }),
    });
    await author.sure('PUT', link(undated, 'self'), {
      json: recordDocument('Undated', { metadata: { publication_date: 'soon', title: 'ab' } }),
    });
    await author.sure('PUT', link(fileless, 'self'), {
      json: recordDocument('No files', { withFiles: true }),
    });

    const refused = await author.call<Failed>('POST', link(main, 'publish'));
    const named = refused.body.errors?.map(({ record = main.id, field, messages }) => ({
      record,
      field,
      messages,
    }));
    expect({ status: refused.status, message: refused.body.message, named }).toEqual({
      status: 400,
      message: 'A validation error occurred.',
      named: expect.arrayContaining([
        { record: main.id, field: 'metadata.creators', messages: ['Missing data for required field.'] },
        {
          record: undated.id,
          field: 'metadata.publication_date',
          messages: ['Please provide a valid date or interval.'],
        },
        { record: undated.id, field: 'metadata.title', messages: ['Shorter than minimum length 3.'] },
        {
          record: fileless.id,
          field: 'files.enabled',
          messages: [
            'Missing uploaded files. To disable files for this record please mark it as metadata-only.',
          ],
        },
      ]),
    });
    expect(named?.filter(({ record }) => record === sound.id)).toEqual([]);
    const still = await Promise.all(
      [`/packages/${main.id}`, ...resources.map(({ id }) => `/records/${id}`)].map(async (target) => [
        (await anonymous.call('GET', target)).status,
        (await author.call('GET', `${target}/draft`)).status,
      ]),
    );
    expect(still).toEqual(Array(4).fill([404, 200]));

    await author.sure('PUT', link(main, 'self'), { json: packageDocument('Sound') });
    await author.sure('PUT', link(undated, 'self'), { json: recordDocument('Dated') });
    await upload(author, fileless, 'a.txt', Buffer.from('a'));
    const published = await author.call<Entity>('POST', link(main, 'publish'));
    expect([published.status, published.body.relationship.resources]).toEqual([202, listOf(...resources)]);
    expect(await listed(`/packages/${main.id}/resources`, anonymous)).toEqual(idsOf(resources));
  });

  test('is tried on request without being done', async () => {
    const { main, resources } = await packageOfResources(author, 'Tried', 2);
    const [flawed] = resources as [Entity];
    await author.sure('PUT', link(flawed, 'self'), { json: recordDocument('ab') });
    const answer = await author.call<{ errors: unknown[] }>(
      'POST',
      `/packages/${main.id}/draft/actions/validate`,
    );
    expect([
      answer.status,
      answer.body.errors,
      (await anonymous.call('GET', `/packages/${main.id}`)).status,
    ]).toEqual([
      200,
      [
        {
          record: flawed.id,
          message: "The record can't be published",
          errors: [{ field: 'metadata.title', messages: ['Shorter than minimum length 3.'] }],
        },
      ],
      404,
    ]);
  });

  test('leaves published resources and their pending edits as they are', async () => {
    const main = await newPackage();
    const resource = await publishedRecord(author, 'Stays');
    const edit = await author.sure<Entity>('POST', link(resource, 'draft'));
    await author.sure('PUT', link(edit, 'self'), { json: recordDocument('Pending') });
    await add(main, listOf(resource));
    const status = (await author.call('POST', link(main, 'publish'))).status;
    // The mirror of the relation follows the publication.
    const after = await until(async () => {
      const read = await author.sure<Entity>('GET', link(resource, 'self'));
      return read.relationship.packages?.length === 1 ? read : undefined;
    });
    const draft = await author.sure<Entity>('GET', link(edit, 'self'));
    expect([status, after, draft.metadata['title']]).toEqual([
      202,
      {
        ...resource,
        relationship: { packages: listOf(main) },
      },
      'Pending',
    ]);
  });

  test('takes a resource that was published alone before as it is', async () => {
    const { main, resources } = await packageOfResources(author, 'Alone', 2);
    const [alone] = resources;
    const first = await publish(author, alone as Entity);
    await publish(author, main);
    const after = await author.sure<Entity>('GET', link(first, 'self'));
    expect([after.revision_id, after.updated]).toEqual([first.revision_id, first.updated]);
  });

  test('of a hundred resources is one moment too', async () => {
    const { main, resources } = await packageOfResources(author, 'Hundred', 100);
    const status = (await author.call('POST', link(main, 'publish'))).status;
    const found = await until(async () => {
      const { hits } = await anonymous.sure<Listing>('GET', '/search?q="Hundred"&size=1000');
      // All or none: a package appears in the index at one moment.
      if (hits.total !== 0 && hits.total !== 101) throw new Error(`${hits.total} of 101`);
      return hits.total;
    });
    expect([status, found, await listed(`/packages/${main.id}/resources?size=1000`, anonymous)]).toEqual([
      202,
      101,
      idsOf(resources),
    ]);
  });
});

describe('a restricted package', () => {
  test('closes the drafts that it manages, and never opens them again', async () => {
    const { main, resources } = await packageOfResources(author, 'Closing', 1);
    const open = await publishedRecord(author, 'Related');
    await add(main, listOf(open));
    const [managed] = resources as [Entity];
    const accessOf = async (target: string) => {
      const { access } = await author.sure<Entity>('GET', target);
      return [access.record, access.files];
    };
    await author.sure('PUT', link(main, 'self'), {
      json: packageDocument('Closing', { access: RESTRICTED }),
    });
    const closed = [await accessOf(link(managed, 'self')), await accessOf(link(open, 'self'))];
    await author.sure('PUT', link(main, 'self'), { json: packageDocument('Closing') });
    expect({ closed, later: await accessOf(link(managed, 'self')) }).toEqual({
      closed: [
        ['restricted', 'restricted'],
        ['public', 'public'],
      ],
      later: ['restricted', 'restricted'],
    });
  });
});

describe('what leaves', () => {
  test('a deleted resource leaves the version and the context', async () => {
    const { main, resources } = await packageOfResources(author, 'Leaving', 2);
    const [gone, stays] = resources as [Entity, Entity];
    const status = (await author.call('DELETE', link(gone, 'self'))).status;
    const inTime = await until(async () => {
      const { relationship } = await author.sure<Entity>('GET', link(main, 'self'));
      return relationship.resources?.length === 1 ? relationship.resources : undefined;
    });
    expect([status, inTime, await inDraft(main), await inContext(main)]).toEqual([
      204,
      listOf(stays),
      [stays.id],
      [stays.id],
    ]);
    expect((await author.call('POST', link(main, 'publish'))).status).toBe(202);
  });

  test('a deleted package releases its resources, which stay as separate ones', async () => {
    const { main, resources } = await packageOfResources(author, 'Ending', 2);
    const status = (await author.call('DELETE', link(main, 'self'))).status;
    const [one, two] = resources as [Entity, Entity];
    await until(
      async () => Object.keys(await managerOf(one)).length === 0 && (await packagesOf(one))?.length === 0,
    );
    const next = await newPackage();
    expect([
      status,
      (await author.call('POST', link(one, 'publish'))).status,
      (await associate(next, listOf(two))).status,
    ]).toEqual([204, 202, 204]);
  });

  test('a discarded new version leaves no mark on its imported resources', async () => {
    const { main, resources } = await packageOfResources(author, 'Discarded', 1);
    const first = await publish(author, main);
    const [one] = resources as [Entity];
    const before = await author.sure<Entity>('GET', `/records/${one.id}`);
    const next = await author.sure<Entity>('POST', link(first, 'versions'));
    await author.sure('POST', link(next, 'resources_import'));
    await author.sure('DELETE', link(next, 'self'));
    const after = await author.sure<Entity>('GET', `/records/${one.id}`);
    expect([before.relationship.packages, after]).toEqual([listOf(first), before]);
  });
});

test('a resource is related to its package, as the listing of the package shows at once', async () => {
  const main = await newPackage();
  const records = [await newRecord(), await newRecord(), await newRecord()];
  await relate(author, main, records);
  for (const record of records)
    await author.sure('PUT', link(record, 'self'), { json: recordDocument(`Now ${record.id}`) });
  const { hits } = await author.sure<Listing>('GET', link(main, 'resources'));
  expect(hits.hits.map(({ metadata }) => metadata['title']).sort()).toEqual(
    records.map(({ id }) => `Now ${id}`).sort(),
  );
});
