import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { readTrail } from '@kr/audit-trail';
import { anonymous, servicePrincipal } from '@kr/caller';
import { newEntityId } from '@kr/draft-lifecycle';
import { ServiceError } from '@kr/service-error';
import {
  aPackage,
  aPackageWith,
  idsBody,
  insist,
  managedDraft,
  OWNER,
  type PackagesFixture,
  packagesFixture,
  publishedRecord,
  type Replica,
  STRANGER,
} from '../testing/packages-fixture.ts';

let fixture: PackagesFixture;
let service: Replica;

beforeAll(async () => {
  fixture = await packagesFixture();
  service = await fixture.start();
});
afterAll(() => fixture.stop());
beforeEach(() => fixture.peers.reset());

async function failure(work: Promise<unknown>): Promise<object> {
  try {
    return { answered: await work };
  } catch (thrown) {
    const { kind, message, issues } = ServiceError.from(thrown);
    return { kind, message, ...(issues.length > 0 && { issues }) };
  }
}

async function publish(id: string): Promise<void> {
  await service.publications.publish({ subject: 'SUBJECT_PACKAGE', id }, OWNER);
}

async function held(packageId: string): Promise<string[]> {
  return (await service.packages.listResources({ packageId }, OWNER)).ids;
}

const add = (packageId: string, ids: string[], principal = OWNER) =>
  service.packages.addResources({ packageId, body: idsBody('resources', ids) }, principal);
const remove = (packageId: string, ids: string[], principal = OWNER) =>
  service.packages.removeResources({ packageId, body: idsBody('resources', ids) }, principal);

const RECORD_PARENT = newEntityId();
const DRAFT_REFUSED = "This record is a draft and can't be linked to the package as a resource.";
const FORBIDDEN = { kind: 'forbidden', message: 'Permission denied.' };
const UNKNOWN = { kind: 'not_found', message: 'The persistent identifier does not exist.' };

describe('adding resources to a version', () => {
  test('adds the good ones in order, names the others, and notifies the records service once', async () => {
    const { id, parentId } = await aPackage(service);
    fixture.peers.records.set('draft', managedDraft('draft', parentId));
    fixture.peers.records.set('loose', managedDraft('loose', ''));
    fixture.peers.records.set('public', publishedRecord('public'));
    expect(await add(id, ['public', 'loose', 'draft', 'public'])).toEqual({
      errors: [{ record: 'loose', message: DRAFT_REFUSED }],
    });
    expect(await held(id)).toEqual(['public', 'draft']);
    expect(fixture.peers.mirrored).toEqual([{ packageId: id, revision: '2', ids: ['public', 'draft'] }]);
    expect(await add(id, ['draft'])).toEqual({ errors: [] });
    expect(fixture.peers.mirrored.length).toBe(1);
  });

  test('adds up to 10,000 of them, and refuses one more', async () => {
    const { id } = await aPackage(service);
    fixture.peers.records.set('r1', publishedRecord('r1'));
    fixture.peers.records.set('r2', publishedRecord('r2'));
    await fixture.database.$executeRaw`
      insert into package_resource (package_id, resource_id, position)
      select ${id}, 'many-' || number, number from generate_series(1, 9999) as number`;
    expect(await add(id, ['r1'])).toEqual({ errors: [] });
    expect(await failure(add(id, ['r2']))).toEqual({
      kind: 'invalid',
      message: 'A validation error occurred.',
      issues: [{ field: 'resources', messages: ['A package may have at most 10000 resources.'] }],
    });
    expect(await held(id)).toHaveLength(10_000);
  });

  test('shows them in the document, in both forms', async () => {
    const { id } = await aPackageWith(fixture, service, ['r2', 'r1']);
    const relationship = async (form: 'FORM_DRAFT' | 'FORM_PUBLISHED') => {
      const { results } = await service.lifecycle.readEntities({ refs: [{ id, form }] }, OWNER);
      return JSON.parse(results[0]?.document?.json.toString() ?? '{}').relationship;
    };
    const expected = { resources: [{ id: 'r2' }, { id: 'r1' }] };
    expect(await relationship('FORM_DRAFT')).toEqual(expected);
    await publish(id);
    expect(await relationship('FORM_PUBLISHED')).toEqual(expected);
  });

  test('fails as a whole for unknown or unreadable ids and packages, and changes nothing', async () => {
    const { id, parentId } = await aPackageWith(fixture, service, ['r1']);
    fixture.peers.records.set('r1', { ...managedDraft('r1', parentId), parentId: RECORD_PARENT });
    fixture.peers.records.set('secret', { ...managedDraft('secret', ''), isReadable: false });
    fixture.peers.mirrored.length = 0;
    expect({
      unknown: await failure(add(id, ['nowhere', 'r1'])),
      unreadable: await failure(add(id, ['secret'])),
      package: await failure(add(id, [id])),
      packageParent: await failure(add(id, [parentId])),
      recordParent: await failure(add(id, [RECORD_PARENT])),
      none: await failure(add(id, [])),
      many: await failure(
        add(
          id,
          Array.from({ length: 101 }, (_, index) => `r${index}`),
        ),
      ),
      stranger: await failure(add(id, ['r1'], STRANGER)),
      noPackage: await failure(add('nowhere', ['r1'])),
    }).toEqual({
      unknown: UNKNOWN,
      unreadable: FORBIDDEN,
      package: { kind: 'not_found', message: 'Not found.' },
      packageParent: { kind: 'not_found', message: 'Not found.' },
      recordParent: { kind: 'not_found', message: 'Not found.' },
      none: length(),
      many: length(),
      stranger: FORBIDDEN,
      noPackage: UNKNOWN,
    });
    expect([await held(id), fixture.peers.mirrored]).toEqual([['r1'], []]);
  });

  test('is over once the version is published, also in its edit draft', async () => {
    const { id } = await aPackageWith(fixture, service, ['r1']);
    await publish(id);
    expect(await failure(add(id, ['r1']))).toEqual({ kind: 'not_found', message: 'Not found.' });
    await service.lifecycle.editPublished({ id }, OWNER);
    fixture.peers.records.set('public', publishedRecord('public'));
    expect([await add(id, ['public']), await remove(id, ['r1'])]).toEqual([
      { errors: [{ record: 'public', message: "This resource can't be associated with the package." }] },
      { errors: [{ record: 'r1', message: "This resource can't be removed from the package." }] },
    ]);
    expect(await held(id)).toEqual(['r1']);
  });

  test('loses none when many add at once', async () => {
    const { id, parentId } = await aPackage(service);
    const ids = Array.from({ length: 30 }, (_, index) => `many-${index}`);
    for (const resource of ids) fixture.peers.records.set(resource, managedDraft(resource, parentId));
    await Promise.all(ids.map((resource) => insist(() => add(id, [resource]))));
    expect((await held(id)).sort()).toEqual([...ids].sort());
    const newest = fixture.peers.mirrored.reduce((a, b) => (Number(a.revision) > Number(b.revision) ? a : b));
    expect([...newest.ids].sort()).toEqual([...ids].sort());
  });
});

describe('removing resources from a version', () => {
  test('takes out the good ones and names the others', async () => {
    const { id } = await aPackageWith(fixture, service, ['r1', 'r2']);
    fixture.peers.records.set('loose', managedDraft('loose', ''));
    fixture.peers.records.set('public', publishedRecord('public'));
    expect(await remove(id, ['r1', 'loose', 'public'])).toEqual({
      errors: [{ record: 'loose', message: DRAFT_REFUSED }],
    });
    expect(await held(id)).toEqual(['r2']);
    expect(await failure(remove(id, ['nowhere']))).toEqual(UNKNOWN);
  });

  test('also takes out what is gone or out of reach', async () => {
    const { id } = await aPackageWith(fixture, service, ['r1', 'r2']);
    fixture.peers.records.delete('r1');
    fixture.peers.records.set('r2', { ...managedDraft('r2', ''), isReadable: false });
    expect(await remove(id, ['r1', 'r2'])).toEqual({ errors: [] });
    expect(await held(id)).toEqual([]);
  });
});

describe('resources that are gone', () => {
  const forget = (ids: string[], principal = servicePrincipal('records')) =>
    service.packages.removeDeletedRecords({ ids }, principal);

  test('leave every draft that holds them, at once and once; what is published keeps them', async () => {
    const [one, other, shown] = [
      await aPackageWith(fixture, service, ['kept', 'gone-1', 'gone-2']),
      await aPackageWith(fixture, service, ['gone-2']),
      await aPackageWith(fixture, service, ['gone-1']),
    ];
    await publish(shown.id);
    await service.lifecycle.editPublished({ id: shown.id }, OWNER);
    fixture.peers.mirrored.length = 0;
    await forget(['gone-1', 'gone-2', 'never-there']);
    await forget(['gone-1', 'gone-2']);
    await forget([]);
    expect([await held(one.id), await held(other.id), await held(shown.id)]).toEqual([
      ['kept'],
      [],
      ['gone-1'],
    ]);
    expect(fixture.peers.mirrored).toHaveLength(2);
    expect(fixture.peers.mirrored).toEqual(
      expect.arrayContaining([
        { packageId: one.id, revision: '3', ids: ['kept'] },
        { packageId: other.id, revision: '3', ids: [] },
      ]),
    );
    expect(await failure(forget(['kept'], OWNER))).toEqual(FORBIDDEN);
    expect(await held(one.id)).toEqual(['kept']);
  });

  test('leave it with an entry that names the request because of which they went', async () => {
    const { id, parentId } = await aPackageWith(fixture, service, ['gone']);
    await forget(['gone'], servicePrincipal('records', 'the deletion'));
    const { entries } = await readTrail(fixture.database, parentId, 1);
    expect(entries).toMatchObject([
      {
        action: 'resources.remove',
        entityId: id,
        actor: { service: 'packages', userId: '', requestId: 'the deletion' },
      },
    ]);
    expect(fixture.peers.toldBy.at(-1)).toEqual(servicePrincipal('packages', 'the deletion'));
  });

  test('leave a draft that is being published when its publication has ended', async () => {
    const { id } = await aPackageWith(fixture, service, ['kept', 'gone']);
    const seen = Promise.withResolvers<void>();
    const refuse = Promise.withResolvers<void>();
    fixture.peers.say.prepare = async () => {
      seen.resolve();
      await refuse.promise;
      return { isPrepared: false, issues: [{ field: 'id', messages: ['Gone.'], record: 'gone' }] };
    };
    const publishing = failure(publish(id));
    await seen.promise;
    const forgetting = forget(['gone']);
    refuse.resolve();
    await forgetting;
    expect(await publishing).toMatchObject({ kind: 'not_publishable' });
    expect(await held(id)).toEqual(['kept']);
  });
});

describe('importing resources', () => {
  test('copies what the published version before holds, once, and leaves that version alone', async () => {
    const { id } = await aPackageWith(fixture, service, ['r1', 'r2']);
    expect(await failure(service.packages.importResources({ packageId: id }, OWNER))).toEqual({
      kind: 'not_found',
      message: 'Not found.',
    });
    await publish(id);
    const { document } = await service.lifecycle.createVersion({ id }, OWNER);
    const next = document?.id ?? '';
    expect(await held(next)).toEqual([]);
    fixture.peers.mirrored.length = 0;
    await service.packages.importResources({ packageId: next }, OWNER);
    await service.packages.importResources({ packageId: next }, OWNER);
    expect(await held(next)).toEqual(['r1', 'r2']);
    expect(fixture.peers.mirrored).toEqual([{ packageId: next, revision: '2', ids: ['r1', 'r2'] }]);
    await remove(next, ['r1']);
    expect([await held(id), await held(next)]).toEqual([['r1', 'r2'], ['r2']]);
    expect(await failure(service.packages.importResources({ packageId: next }, STRANGER))).toEqual(FORBIDDEN);
  });

  test('is refused on the edit draft of a published version', async () => {
    const { id } = await aPackage(service);
    await publish(id);
    const { document } = await service.lifecycle.createVersion({ id }, OWNER);
    const next = document?.id ?? '';
    const body = { files: { enabled: false }, metadata: { ...METADATA, publication_date: '2025-01-01' } };
    await service.lifecycle.updateDraft({ id: next, body: Buffer.from(JSON.stringify(body)) }, OWNER);
    await publish(next);
    await service.lifecycle.editPublished({ id: next }, OWNER);
    expect(await failure(service.packages.importResources({ packageId: next }, OWNER))).toEqual({
      kind: 'invalid',
      message: "This resource can't be associated with the package.",
    });
  });
});

const METADATA = {
  title: 'Floods',
  publisher: 'Example',
  creators: [{ person_or_org: { type: 'personal', family_name: 'Carberry', given_name: 'Josiah' } }],
};

function length(): object {
  return {
    kind: 'invalid',
    message: 'A validation error occurred.',
    issues: [{ field: 'resources', messages: ['Length must be between 1 and 100.'] }],
  };
}

test('a list shows whether its version is published and the caller may read it', async () => {
  const { id } = await aPackage(service);
  const isPublished = async (principal = OWNER) =>
    (await service.packages.listResources({ packageId: id }, principal)).isPublished;
  expect(await isPublished()).toBe(false);
  await publish(id);
  expect([await isPublished(), await isPublished(anonymous('request'))]).toEqual([true, true]);
  await fixture.database.$executeRawUnsafe(
    `update version set document = jsonb_set(document, '{access,record}', '"restricted"')`,
  );
  expect([await isPublished(), await isPublished(anonymous('request'))]).toEqual([true, false]);
});

describe('the lists of all versions', () => {
  const RECORDS = servicePrincipal('records');
  const all = async () => {
    const versions: Awaited<ReturnType<typeof service.packages.listVersionResources>>['versions'] = [];
    for (let afterId = ''; ; ) {
      const page = await service.packages.listVersionResources({ afterId }, RECORDS);
      versions.push(...page.versions);
      if (page.lastId === '') return versions;
      afterId = page.lastId;
    }
  };

  test('are returned in pages, with the revision of the draft, the publication and the access of restricted packages', async () => {
    const created = [];
    for (let n = 0; n < 25; n += 1) created.push(await aPackage(service));
    const [open, closed, published] = [
      await aPackageWith(fixture, service, ['open-1', 'open-2']),
      await aPackageWith(fixture, service, ['closed-1']),
      await aPackageWith(fixture, service, ['published-1']),
    ];
    await fixture.database.$executeRawUnsafe(
      `update draft set document = jsonb_set(document, '{access,record}', '"restricted"'), restriction_revision = 2
       where id = $1`,
      closed.id,
    );
    await publish(published.id);
    const versions = await all();
    const listed = versions.map(({ packageId }) => packageId);
    expect(listed).toHaveLength(new Set(listed).size);
    expect(listed).toEqual(expect.arrayContaining(created.map(({ id }) => id)));
    const of = (id: string) => versions.find(({ packageId }) => packageId === id);
    const restrictionOf = of(closed.id)?.accessJson.toString() ?? '';
    expect([of(open.id), of(closed.id), of(published.id)]).toMatchObject([
      {
        packageParentId: open.parentId,
        isPublished: false,
        ids: ['open-1', 'open-2'],
        restrictionRevision: '0',
      },
      { isPublished: false, ids: ['closed-1'], restrictionRevision: '2' },
      { revision: '0', isPublished: true, ids: ['published-1'], restrictionRevision: '0' },
    ]);
    expect(Number(of(open.id)?.revision)).toBeGreaterThan(0);
    expect([of(open.id), of(published.id)].map((one) => one?.accessJson.length)).toEqual([0, 0]);
    expect(JSON.parse(restrictionOf)).toMatchObject({ record: 'restricted' });
  });

  test('are for services only', async () => {
    expect(await failure(service.packages.listVersionResources({ afterId: '' }, OWNER))).toMatchObject({
      kind: 'forbidden',
    });
  });
});
