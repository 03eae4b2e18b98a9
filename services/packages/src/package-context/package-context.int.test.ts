import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { servicePrincipal } from '@kr/caller';
import { eventCodecs } from '@kr/contracts';
import { ServiceError } from '@kr/service-error';
import {
  aPackage,
  aPackageWith,
  GOOD_METADATA,
  idsBody,
  managedDraft,
  OWNER,
  type PackagesFixture,
  packagesFixture,
  type Replica,
  STRANGER,
} from '../testing/packages-fixture.ts';
import { LOST } from '../testing/scripted-peers.ts';

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

const FORBIDDEN = { kind: 'forbidden', message: 'Permission denied.' };
const NOT_FOUND = { kind: 'not_found', message: 'Not found.' };

describe('the context of a package', () => {
  test('takes resources in by any version of the package, but not by its parent', async () => {
    const { id, parentId } = await aPackage(service);
    const associate = (packageId: string, ids: string[], principal = OWNER) =>
      service.packages.associate({ packageId, body: idsBody('records', ids) }, principal);
    await associate(id, ['r1', 'r2', 'r1']);
    await service.publications.publish({ subject: 'SUBJECT_PACKAGE', id }, OWNER);
    await associate(id, ['r3']);
    expect({
      associated: fixture.peers.associated,
      parent: await failure(associate(parentId, ['r1'])),
      stranger: await failure(associate(id, ['r1'], STRANGER)),
      strangersNonsense: await failure(
        service.packages.associate({ packageId: id, body: Buffer.from('{}') }, STRANGER),
      ),
      none: await failure(associate(id, [])),
    }).toEqual({
      associated: [
        { packageParentId: parentId, packageId: id, ids: ['r1', 'r2'] },
        { packageParentId: parentId, packageId: id, ids: ['r3'] },
      ],
      parent: NOT_FOUND,
      stranger: FORBIDDEN,
      strangersNonsense: FORBIDDEN,
      none: {
        kind: 'invalid',
        message: 'A validation error occurred.',
        issues: [{ field: 'records', messages: ['Length must be between 1 and 100.'] }],
      },
    });
  });

  test('keeps nothing when the package is deleted while resources are added', async () => {
    const { id, parentId } = await aPackage(service);
    fixture.peers.say.associate = async () => void (await service.lifecycle.deleteDraft({ id }, OWNER));
    const request = { ...OWNER, requestId: 'too late' };
    expect({
      answer: await failure(
        service.packages.associate({ packageId: id, body: idsBody('records', ['r1']) }, request),
      ),
      dissociated: fixture.peers.dissociated,
      by: fixture.peers.toldBy.at(-1),
    }).toEqual({
      answer: NOT_FOUND,
      dissociated: [{ packageParentId: parentId, packageId: id, ids: ['r1'] }],
      by: servicePrincipal('packages', 'too late'),
    });
  });

  test('lets resources go from its draft version too, and only from that', async () => {
    const { id, parentId } = await aPackageWith(fixture, service, ['r1', 'r2']);
    await service.publications.publish({ subject: 'SUBJECT_PACKAGE', id }, OWNER);
    const { document } = await service.lifecycle.createVersion({ id }, OWNER);
    const next = document?.id ?? '';
    await service.packages.importResources({ packageId: next }, OWNER);
    await service.packages.dissociate({ packageId: id, body: idsBody('records', ['r1']) }, OWNER);
    await service.packages.dissociate({ packageId: id, body: idsBody('records', ['r1']) }, OWNER);
    const held = async (packageId: string) =>
      (await service.packages.listResources({ packageId }, OWNER)).ids;
    expect([await held(id), await held(next), fixture.peers.dissociated]).toEqual([
      ['r1', 'r2'],
      ['r2'],
      [
        { packageParentId: parentId, packageId: id, ids: ['r1'] },
        { packageParentId: parentId, packageId: id, ids: ['r1'] },
      ],
    ]);
  });

  test('removes the resources that the records service reports as released, not the requested ones', async () => {
    const { id } = await aPackageWith(fixture, service, ['draft-of-r1', 'related', 'r2']);
    fixture.peers.say.dissociate = async () => ['r1', 'draft-of-r1'];
    await service.packages.dissociate({ packageId: id, body: idsBody('records', ['r1', 'related']) }, OWNER);
    expect((await service.packages.listResources({ packageId: id }, OWNER)).ids).toEqual(['related', 'r2']);
  });

  test('lists the managed resources as reported by the records service', async () => {
    const { parentId } = await aPackageWith(fixture, service, ['r1', 'r2']);
    expect(await service.packages.listContextResources({ packageParentId: parentId }, OWNER)).toEqual({
      ids: ['r1', 'r2'],
      publishedIds: ['r2'],
    });
  });

  test('has a record policy of two values', async () => {
    const { id, parentId } = await aPackage(service);
    const set = (recordPolicy: string, principal = OWNER) =>
      service.packages.updateContext(
        { packageId: id, body: Buffer.from(JSON.stringify({ access: { record_policy: recordPolicy } })) },
        principal,
      );
    await set('closed');
    await set('open');
    await set('closed');
    expect(await fixture.database.packageContext.findMany({ where: { parentId } })).toEqual([
      { parentId, recordPolicy: 'closed' },
    ]);
    expect([await failure(set('ajar')), await failure(set('open', STRANGER))]).toEqual([
      {
        kind: 'invalid',
        message: 'A validation error occurred.',
        issues: [{ field: 'access.record_policy', messages: ['Must be one of: open, closed.'] }],
      },
      FORBIDDEN,
    ]);
  });
});

describe('a package that becomes restricted', () => {
  const access = { record: 'restricted', files: 'restricted', embargo: { active: false, reason: null } };
  const put = (id: string, record: string) => {
    const body = {
      metadata: GOOD_METADATA,
      files: { enabled: false },
      access: { record, files: record },
    };
    return service.lifecycle.updateDraft({ id, body: Buffer.from(JSON.stringify(body)) }, OWNER);
  };

  test('closes what its version holds, and what is added later; becoming public opens nothing', async () => {
    const { id, parentId } = await aPackageWith(fixture, service, ['r1', 'r2']);
    await put(id, 'public');
    expect(fixture.peers.restricted).toEqual([]);
    await put(id, 'restricted');
    expect(fixture.peers.restricted).toContainEqual({ packageParentId: parentId, ids: ['r1', 'r2'], access });

    fixture.peers.restricted.length = 0;
    fixture.peers.records.set('r3', managedDraft('r3', parentId));
    await service.packages.addResources({ packageId: id, body: idsBody('resources', ['r3']) }, OWNER);
    expect(fixture.peers.restricted).toContainEqual({ packageParentId: parentId, ids: ['r3'], access });

    await put(id, 'public');
    const { document } = (await service.lifecycle.readEntities({ refs: [{ id, form: 'FORM_DRAFT' }] }, OWNER))
      .results[0] ?? { document: null };
    fixture.peers.restricted.length = 0;
    await service.packages.removeResources({ packageId: id, body: idsBody('resources', ['r3']) }, OWNER);
    expect([JSON.parse(document?.json.toString() ?? '{}').access.record, fixture.peers.restricted]).toEqual([
      'public',
      [],
    ]);
  });

  /** Restrictions in the events of a package, in order. */
  const announced = async (id: string) => {
    const subject = 'knowledge.packages.resources.changed';
    const rows = await fixture.database.$queryRaw<{ payload: Buffer }[]>`
      select payload from outbox where aggregate_id = ${id} and subject = ${subject} order by id`;
    return rows
      .map(({ payload }) => eventCodecs[subject].decode(Buffer.from(payload)))
      .filter(({ accessJson }) => accessJson.length > 0)
      .map(({ recordIds, accessJson, revision, restrictionRevision }) => {
        return { recordIds, access: JSON.parse(String(accessJson)), isOwn: revision === restrictionRevision };
      });
  };

  test('returns success only when its resources are closed; the event closes them in any case', async () => {
    const { id } = await aPackageWith(fixture, service, ['r1']);
    fixture.peers.say.mirror = async () => {
      throw LOST;
    };
    expect(await failure(put(id, 'restricted'))).toEqual({ kind: 'unavailable', message: LOST.message });
    expect(await put(id, 'public')).toMatchObject({ document: { id } });
    expect(await failure(put(id, 'restricted'))).toMatchObject({ kind: 'unavailable' });
    const closed = { recordIds: ['r1'], access, isOwn: true };
    expect(await announced(id)).toEqual([closed, closed]);
  });

  test('closes all its drafts also when its list of resources changed before the event arrived', async () => {
    const { id, parentId } = await aPackageWith(fixture, service, ['r1', 'r2']);
    fixture.peers.say.mirror = async () => {
      throw LOST;
    };
    expect(await failure(put(id, 'restricted'))).toMatchObject({ kind: 'unavailable' });
    fixture.peers.say.mirror = async () => undefined;
    await service.packages.removeResources({ packageId: id, body: idsBody('resources', ['r2']) }, OWNER);
    expect(fixture.peers.restricted).toContainEqual({ packageParentId: parentId, ids: ['r1'], access });
    expect((await announced(id)).map(({ recordIds }) => recordIds)).toEqual([['r1', 'r2'], ['r1']]);
  });

  test('is not published before its drafts are closed', async () => {
    const { id } = await aPackageWith(fixture, service, ['r1']);
    let isAway = true;
    fixture.peers.say.mirror = async (_packageId, isRestricted) => {
      if (isAway && isRestricted) throw LOST;
    };
    expect(await failure(put(id, 'restricted'))).toMatchObject({ kind: 'unavailable' });
    const impatient = await fixture.start({ reachMs: 500 });
    const publish = () => impatient.publications.publish({ subject: 'SUBJECT_PACKAGE', id }, OWNER);
    expect(await failure(publish())).toMatchObject({ kind: 'unavailable' });
    expect(fixture.peers.prepared.flatMap(({ ids }) => ids)).not.toContain('r1');
    isAway = false;
    await publish();
    expect([fixture.peers.restricted.map(({ ids }) => ids), fixture.peers.prepared.at(-1)?.ids]).toEqual([
      [['r1']],
      ['r1'],
    ]);
  });

  test('is sent to the records service once for all parts of its publication', async () => {
    const { id } = await aPackageWith(fixture, service, ['r1', 'r2', 'r3']);
    await put(id, 'restricted');
    fixture.peers.mirrored.length = 0;
    fixture.peers.say.prepare = async ({ ids: [one = '', ...remainingIds] }) => {
      return { isPrepared: true, stagedIds: [one], remainingIds };
    };
    await service.publications.publish({ subject: 'SUBJECT_PACKAGE', id }, OWNER);
    expect(fixture.peers.prepared.map(({ ids }) => ids.length)).toEqual([3, 2, 1]);
    expect(fixture.peers.mirrored.filter(({ packageId }) => packageId === id)).toHaveLength(1);
  });

  test('restricts nothing when the save is refused', async () => {
    const { id } = await aPackageWith(fixture, service, ['r1']);
    const stale = { id, ifRevision: '99', body: Buffer.from('{"access": {"record": "restricted"}}') };
    expect(await failure(service.lifecycle.updateDraft(stale, OWNER))).toMatchObject({
      kind: 'precondition_failed',
    });
    expect([await announced(id), fixture.peers.restricted]).toEqual([[], []]);
  });
});

describe('deleting the draft of a package', () => {
  /** Calls about packages of other tests still arrive meanwhile. */
  const mirrored = (id: string) => fixture.peers.mirrored.filter(({ packageId }) => packageId === id);

  test('frees the resources of a package that is gone', async () => {
    const { id, parentId } = await aPackageWith(fixture, service, ['r1', 'r2']);
    fixture.peers.records.set('other', managedDraft('other', 'elsewhere'));
    fixture.peers.mirrored.length = 0;
    await service.lifecycle.deleteDraft({ id }, { ...OWNER, requestId: 'the deletion' });
    expect({ mirrored: mirrored(id), dissociated: fixture.peers.dissociated }).toEqual({
      mirrored: [{ packageId: id, revision: '3', ids: [] }],
      dissociated: [{ packageParentId: parentId, packageId: id, ids: ['r1', 'r2'] }],
    });
    const log = fixture.peers.toldBy.filter(({ requestId }) => requestId === 'the deletion');
    expect(log).toEqual(Array(2).fill(servicePrincipal('packages', 'the deletion')));
    expect(await fixture.database.packageResource.count({ where: { packageId: id } })).toBe(0);
  });

  test('only empties a new version, and leaves the context and the published version', async () => {
    const { id } = await aPackageWith(fixture, service, ['r1']);
    await service.publications.publish({ subject: 'SUBJECT_PACKAGE', id }, OWNER);
    const { document } = await service.lifecycle.createVersion({ id }, OWNER);
    const next = document?.id ?? '';
    await service.packages.importResources({ packageId: next }, OWNER);
    fixture.peers.mirrored.length = 0;
    await service.lifecycle.deleteDraft({ id: next }, OWNER);
    expect({ mirrored: mirrored(next), dissociated: fixture.peers.dissociated }).toEqual({
      mirrored: [{ packageId: next, revision: '3', ids: [] }],
      dissociated: [],
    });
    expect((await service.packages.listResources({ packageId: id }, OWNER)).ids).toEqual(['r1']);
  });

  test('changes no relation when only an edit is discarded', async () => {
    const { id } = await aPackageWith(fixture, service, ['r1']);
    await service.publications.publish({ subject: 'SUBJECT_PACKAGE', id }, OWNER);
    await service.lifecycle.editPublished({ id }, OWNER);
    fixture.peers.mirrored.length = 0;
    await service.lifecycle.deleteDraft({ id }, OWNER);
    expect({ mirrored: mirrored(id), dissociated: fixture.peers.dissociated }).toEqual({
      mirrored: [],
      dissociated: [],
    });
    expect((await service.packages.listResources({ packageId: id }, OWNER)).ids).toEqual(['r1']);
  });
});
