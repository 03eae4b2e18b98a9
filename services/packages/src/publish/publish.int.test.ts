import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { ServiceError } from '@kr/service-error';
import { until } from '@kr/testbed';
import { v7 as uuidv7 } from 'uuid';
import {
  aPackage,
  aPackageWith,
  FILES,
  idsBody,
  insist,
  managedDraft,
  OWNER,
  type PackagesFixture,
  packagesFixture,
  type Replica,
  STRANGER,
} from '../testing/packages-fixture.ts';
import { LOST } from '../testing/scripted-peers.ts';

let fixture: PackagesFixture;
let first: Replica;
/** Short timeouts for blocked or unreachable participants. */
let impatient: Replica;

beforeAll(async () => {
  fixture = await packagesFixture();
  first = await fixture.start();
  impatient = await fixture.start({ blockedMs: 300, reachMs: 500 });
});
afterAll(() => fixture.stop());
beforeEach(() => fixture.peers.reset());
// Late notifications of one test would be counted in the next one.
afterEach(() =>
  until(
    async () =>
      (await fixture.database.publication.count({
        where: { state: { notIn: ['DONE', 'ABORT_DONE'] } },
      })) === 0,
  ),
);

const publishPackage = (id: string, replica = first, principal = OWNER) =>
  replica.publications.publish({ subject: 'SUBJECT_PACKAGE', id }, principal, { timeoutMs: 60_000 });
const publishRecord = (id: string, replica = first, principal = OWNER) =>
  replica.publications.publish({ subject: 'SUBJECT_RECORD', id }, principal, { timeoutMs: 60_000 });

async function failure(work: Promise<unknown>): Promise<object> {
  try {
    return { answered: await work };
  } catch (thrown) {
    const { kind, message, issues, code, retryAfterMs } = ServiceError.from(thrown);
    return {
      kind,
      message,
      ...(issues.length > 0 && { issues }),
      ...(code && { code }),
      ...(retryAfterMs && { retryAfterMs }),
    };
  }
}

async function settled(entityId: string): Promise<object> {
  const row = () =>
    fixture.database.publication.findFirstOrThrow({ where: { entityId }, orderBy: { createdAt: 'desc' } });
  await until(async () => ['DONE', 'ABORT_DONE'].includes((await row()).state));
  const { state, publishedIds, applied } = await row();
  return { state, publishedIds, applied };
}

async function formsOf(id: string): Promise<object> {
  const version = await fixture.database.version.findUniqueOrThrow({
    where: { id },
    include: { draft: true },
  });
  const { visible, publicationId, draft } = version;
  return { visible, publicationId, draft: draft === null ? null : { lockedBy: draft.lockedBy } };
}

const MOST_BYTES = 67_108_864;
const PUBLISHED = { visible: true, publicationId: null, draft: null };
const UNTOUCHED = { visible: false, publicationId: null, draft: { lockedBy: null } };
const MISSING = ['Missing data for required field.'];

describe('publishing a package', () => {
  test('publishes it with its resources by one call for each step', async () => {
    const { id, parentId } = await aPackageWith(fixture, first, ['r1', 'r2']);
    const { publicationId } = await publishPackage(id);
    expect(await settled(id)).toEqual({
      state: 'DONE',
      publishedIds: [id, 'r1', 'r2'],
      applied: ['files', 'records'],
    });
    expect(await formsOf(id)).toEqual(PUBLISHED);
    const { calls, sealed, prepared, decided, bucketsDecided } = fixture.peers;
    expect(calls.slice(0, 2)).toEqual(['seal', 'prepare']);
    expect(calls.slice(2).sort()).toEqual(['files commit', 'records commit']);
    expect({ sealed, prepared, decided, bucketsDecided }).toEqual({
      sealed: [{ publicationId, epoch: 1, entityIds: [id, 'r1', 'r2'] }],
      prepared: [
        {
          publicationId,
          epoch: 1,
          packageId: id,
          packageParentId: parentId,
          ids: ['r1', 'r2'],
          ifRevision: '0',
          actor: {
            userId: 'owner',
            linkIds: [],
            service: '',
            tokenId: '',
            requestId: 'q',
            traceId: '',
          },
          manifests: ['r1', 'r2'].map((entityId) => ({
            entityId,
            entries: 0,
            pending: 0,
            totalBytes: '0',
            keys: [],
          })),
          inParts: true,
        },
      ],
      decided: [{ publicationId, isCommitted: true }],
      bucketsDecided: [{ publicationId, isCommitted: true, publishedIds: [id, 'r1', 'r2'] }],
    });
    const events = await fixture.database.$queryRaw`
      select subject from outbox where aggregate_id = ${id} order by id`;
    expect(events).toEqual([
      { subject: 'knowledge.packages.draft.saved' },
      { subject: 'knowledge.packages.resources.changed' },
      { subject: 'knowledge.packages.package.published' },
    ]);
  });

  test('repeats the call until the records service has voted on all resources', async () => {
    const { id } = await aPackageWith(fixture, first, ['r1', 'r2', 'r3']);
    const agreed = new Set<string>();
    fixture.peers.say.prepare = async ({ ids: [one = '', ...remainingIds] }) => {
      agreed.add(one);
      return { isPrepared: true, stagedIds: [...agreed], remainingIds, bytes: '20' };
    };
    await publishPackage(id);
    const { prepared } = fixture.peers;
    expect(prepared.map(({ ids, epoch, manifests }) => [epoch, ids, manifests.length])).toEqual([
      [1, ['r1', 'r2', 'r3'], 3],
      [2, ['r2', 'r3'], 2],
      [3, ['r3'], 1],
    ]);
    expect(await settled(id)).toMatchObject({ state: 'DONE', publishedIds: [id, 'r1', 'r2', 'r3'] });
  });

  test('does not accept a yes to another request as a yes to the rest', async () => {
    const { id } = await aPackageWith(fixture, first, ['r1', 'r2']);
    let isOfTheReleaseBefore = true;
    fixture.peers.say.prepare = async ({ ids }) => {
      if (ids.length === 2) return { isPrepared: true, stagedIds: ['r1'], remainingIds: ['r2'] };
      const stagedIds = isOfTheReleaseBefore ? ['r1'] : ['r1', 'r2'];
      isOfTheReleaseBefore = false;
      return { isPrepared: true, stagedIds };
    };
    await publishPackage(id);
    expect(fixture.peers.prepared.map(({ ids }) => ids)).toEqual([['r1', 'r2'], ['r2'], ['r2']]);
    expect(await settled(id)).toMatchObject({ state: 'DONE', publishedIds: [id, 'r1', 'r2'] });
  });

  test('is refused when its resources are too large together, and leaves nothing held', async () => {
    const { id } = await aPackageWith(fixture, first, ['r1', 'r2']);
    fixture.peers.say.prepare = async ({ ids: [one = '', ...remainingIds] }) => {
      return { isPrepared: true, stagedIds: [one], remainingIds, bytes: String(MOST_BYTES) };
    };
    expect(await failure(publishPackage(id))).toEqual({
      kind: 'too_large',
      message: 'A validation error occurred.',
      code: 'publication_too_large',
      issues: [
        {
          field: 'relationship.resources',
          messages: [
            `The resources that are published together may have ${MOST_BYTES} bytes of metadata, and these have more.`,
          ],
        },
      ],
    });
    expect(await settled(id)).toMatchObject({ state: 'ABORT_DONE' });
    expect(await formsOf(id)).toEqual(UNTOUCHED);
  });

  test('is done in the name of the links to it and to its package, and of no other', async () => {
    const grant = (linkId: string, parent: string) => {
      return { linkId, parentId: parent, permission: 'edit' as const };
    };
    const { id, parentId } = await aPackageWith(fixture, first, ['r1']);
    const grants = [grant('of it', 'parent-r2'), grant('of its package', parentId), grant('other', 'p-3')];
    const holder = { ...OWNER, grants };
    fixture.peers.records.set('r2', managedDraft('r2', parentId));
    await first.publications.publish({ subject: 'SUBJECT_RECORD', id: 'r2' }, holder);
    await first.publications.publish({ subject: 'SUBJECT_PACKAGE', id }, holder);
    expect(fixture.peers.prepared.map(({ ids, actor }) => [ids, actor?.linkIds])).toEqual([
      [['r2'], ['of it', 'of its package']],
      [['r1'], ['of its package']],
    ]);
  });

  test('has notified the records service when it answers, if a resource was published before', async () => {
    const { id } = await aPackageWith(fixture, first, ['r1', 'related']);
    const log: boolean[] = [];
    fixture.peers.say.prepare = async () => ({ isPrepared: true, stagedIds: ['r1'] });
    fixture.peers.say.decide = async ({ isCommitted }) => {
      await pause(200);
      log.push(isCommitted);
    };
    await publishPackage(id);
    expect(log).toEqual([true]);
  });

  test('uses its resources as of its start, not of the request', async () => {
    const { id } = await aPackageWith(fixture, first, ['r1', 'r2']);
    const { publishing } = await fixture.database.$transaction(async (tx) => {
      await tx.$queryRaw`select id from version where id = ${id} for update`;
      const publishing = publishPackage(id);
      publishing.catch(() => undefined);
      await until(async () => {
        const [row] = await fixture.database.$queryRaw<{ waiting: number }[]>`
          select count(*)::int as waiting from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`;
        return row?.waiting === 1;
      });
      // As every change of the list does, with the next revision of the draft.
      await tx.$executeRaw`delete from package_resource where package_id = ${id} and resource_id = 'r2'`;
      await tx.$executeRaw`update draft set revision = revision + 1 where id = ${id}`;
      return { publishing };
    });
    await publishing;
    expect(fixture.peers.prepared.map(({ ids }) => ids)).toEqual([['r1']]);
    expect(await settled(id)).toMatchObject({ state: 'DONE', publishedIds: [id, 'r1'] });
  });

  test('answers although the records service does not, and notifies it later', async () => {
    const { id } = await aPackageWith(fixture, first, ['r1', 'related']);
    let isWilling = false;
    fixture.peers.say.prepare = async () => ({ isPrepared: true, stagedIds: ['r1'] });
    fixture.peers.say.decide = async () => {
      if (!isWilling) await pause(20_000);
    };
    const started = performance.now();
    await publishPackage(id);
    expect(performance.now() - started).toBeLessThan(19_000);
    expect(await formsOf(id)).toEqual(PUBLISHED);
    isWilling = true;
    expect(await settled(id)).toMatchObject({ state: 'DONE', applied: ['files', 'records'] });
  });

  test('names every problem of the package and of every resource, and leaves everything as it was', async () => {
    const { id } = await aPackage(first, { title: 'No date', publisher: 'Example' });
    fixture.peers.records.set('r1', { ...record('r1'), managedBy: await parentOf(id) });
    await first.packages.addResources({ packageId: id, body: idsBody('resources', ['r1']) }, OWNER);
    fixture.peers.say.prepare = async () => ({
      isPrepared: false,
      issues: [
        { field: 'metadata.title', messages: MISSING, record: 'r1' },
        { field: 'files.enabled', messages: ['Missing uploaded files.'], record: 'r1' },
      ],
    });
    const refusal = {
      kind: 'not_publishable',
      message: 'A validation error occurred.',
      issues: [
        { field: 'metadata.publication_date', messages: MISSING },
        { field: 'metadata.creators', messages: MISSING },
        { field: 'metadata.title', messages: MISSING, record: 'r1' },
        { field: 'files.enabled', messages: ['Missing uploaded files.'], record: 'r1' },
      ].map(expect.objectContaining),
    };
    const answered = await failure(publishPackage(id));
    expect(answered).toMatchObject({ kind: refusal.kind, message: refusal.message });
    expect((answered as { issues: object[] }).issues).toEqual(expect.arrayContaining(refusal.issues));
    expect(await settled(id)).toEqual({
      state: 'ABORT_DONE',
      publishedIds: [],
      applied: ['files', 'records'],
    });
    expect(await formsOf(id)).toEqual(UNTOUCHED);
    expect(fixture.peers.decided.map(({ isCommitted }) => isCommitted)).toEqual([false]);
  });

  test('gives fifty callers at once one publication and one answer', async () => {
    const second = await fixture.start();
    const { id } = await aPackageWith(fixture, first, ['r1']);
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        insist(() => publishPackage(id, index % 2 === 0 ? first : second)),
      ),
    );
    expect(new Set(answers.map(({ publicationId }) => publicationId)).size).toBe(1);
    expect(await fixture.database.publication.count({ where: { entityId: id } })).toBe(1);
    expect(fixture.peers.calls.filter((call) => call === 'prepare')).toEqual(['prepare']);
    await second.stop();
  });

  test('is not joined by a request with another If-Match', async () => {
    const { id } = await aPackageWith(fixture, first, ['r1']);
    fixture.peers.say.prepare = async ({ ids }) => {
      await pause(1_000);
      return { isPrepared: true, stagedIds: ids };
    };
    const running = publishPackage(id);
    await until(() => fixture.peers.prepared.length === 1);
    const stale = { subject: 'SUBJECT_PACKAGE', id, ifRevision: '99' } as const;
    expect(await failure(first.publications.publish(stale, OWNER))).toMatchObject({
      kind: 'precondition_failed',
    });
    await running;
  });

  test('gives concurrent callers the same refusal', async () => {
    const { id } = await aPackageWith(fixture, first, ['r1']);
    const issues = [{ field: 'metadata.title', messages: MISSING, record: 'r1' }];
    fixture.peers.say.prepare = async () => {
      await pause(1_000);
      return { isPrepared: false, issues };
    };
    const answers = await Promise.all([failure(publishPackage(id)), failure(publishPackage(id))]);
    expect(answers).toEqual(
      [1, 2].map(() => ({ kind: 'not_publishable', message: 'A validation error occurred.', issues })),
    );
    expect(await fixture.database.publication.count({ where: { entityId: id } })).toBe(1);
  });

  test('answers the same again to the same caller only, until a new draft is open', async () => {
    const { id } = await aPackage(first);
    const once = await publishPackage(id);
    const again = await publishPackage(id);
    const administrator = { ...OWNER, userId: 'admin', isAdmin: true };
    expect({
      again,
      stranger: await failure(publishPackage(id, first, STRANGER)),
      administrator: await failure(publishPackage(id, first, administrator)),
    }).toEqual({
      again: once,
      stranger: { kind: 'forbidden', message: 'Permission denied.' },
      administrator: { kind: 'not_found', message: 'Not found.' },
    });
    await first.lifecycle.editPublished({ id }, OWNER);
    expect((await publishPackage(id)).publicationId).not.toBe(once.publicationId);
  });

  test('publishes an edit without its resources', async () => {
    const { id } = await aPackageWith(fixture, first, ['r1']);
    await publishPackage(id);
    await settled(id);
    fixture.peers.calls.length = 0;
    await first.lifecycle.editPublished({ id }, OWNER);
    await publishPackage(id);
    expect(await settled(id)).toEqual({ state: 'DONE', publishedIds: [id], applied: ['files'] });
    expect(fixture.peers.calls).toEqual(['seal', 'files commit']);
    expect((await first.packages.listResources({ packageId: id }, OWNER)).ids).toEqual(['r1']);
  });

  test("is refused for an entity that does not exist, has no draft, or is not the caller's", async () => {
    const { id, parentId } = await aPackage(first);
    expect({
      unknown: await failure(publishPackage('unknown')),
      parent: await failure(publishPackage(parentId)),
      stranger: await failure(publishPackage(id, first, STRANGER)),
      nobody: await failure(publishPackage(id, first, { ...OWNER, userId: null })),
    }).toEqual({
      unknown: { kind: 'not_found', message: 'The persistent identifier does not exist.' },
      parent: { kind: 'not_found', message: 'Not found.' },
      stranger: { kind: 'forbidden', message: 'Permission denied.' },
      nobody: { kind: 'unauthenticated', message: 'Authentication required.' },
    });
    expect(fixture.peers.calls).toEqual([]);
  });

  test('locks every way into the draft until it is decided', async () => {
    const { id } = await aPackageWith(fixture, first, ['r1']);
    const gate = Promise.withResolvers<void>();
    fixture.peers.say.prepare = async ({ ids }) => {
      await gate.promise;
      return { isPrepared: true, stagedIds: ids };
    };
    const publishing = publishPackage(id);
    await until(() => fixture.peers.prepared.length === 1);
    const locked = {
      kind: 'conflict',
      message: 'The draft is being published.',
      code: 'draft_locked',
      retryAfterMs: 1000,
    };
    const body = Buffer.from('{}');
    expect([
      await failure(first.lifecycle.updateDraft({ id, body }, OWNER)),
      await failure(first.lifecycle.deleteDraft({ id }, OWNER)),
      await failure(
        first.packages.addResources({ packageId: id, body: idsBody('resources', ['r1']) }, OWNER),
      ),
      await failure(
        first.packages.removeResources({ packageId: id, body: idsBody('resources', ['r1']) }, OWNER),
      ),
    ]).toEqual([locked, locked, locked, locked]);
    gate.resolve();
    await publishing;
    expect(await formsOf(id)).toEqual(PUBLISHED);
  });
});

/** The records service's answer for a published resource. */
async function draftIsGone(_id: string, form: string): Promise<void> {
  if (form === 'FORM_DRAFT') throw new ServiceError('not_found', 'Not found.');
}

describe('publishing a resource alone', () => {
  test('needs no package', async () => {
    const { publicationId } = await publishRecord('alone-1');
    expect(await settled('alone-1')).toEqual({
      state: 'DONE',
      publishedIds: ['alone-1'],
      applied: ['files', 'records'],
    });
    expect(fixture.peers.prepared).toEqual([
      expect.objectContaining({ publicationId, packageId: '', packageParentId: '', ids: ['alone-1'] }),
    ]);
  });

  test('speaks of its problems without naming it', async () => {
    const issue = { field: 'metadata.title', messages: MISSING };
    fixture.peers.say.prepare = async () => ({
      isPrepared: false,
      issues: [{ ...issue, record: 'alone-2' }],
    });
    expect(await failure(publishRecord('alone-2'))).toEqual({
      kind: 'not_publishable',
      message: 'A validation error occurred.',
      issues: [issue],
    });
  });

  test('is refused as the records service refuses it, but answers its own repeat', async () => {
    fixture.peers.say.authorise = async () => {
      throw new ServiceError('forbidden', 'Permission denied.');
    };
    expect(await failure(publishRecord('alone-3'))).toEqual({
      kind: 'forbidden',
      message: 'Permission denied.',
    });
    fixture.peers.say.authorise = async () => undefined;
    const once = await publishRecord('alone-3');
    fixture.peers.say.authorise = draftIsGone;
    expect([
      await publishRecord('alone-3'),
      await failure(publishRecord('alone-3', first, STRANGER)),
    ]).toEqual([once, { kind: 'not_found', message: 'Not found.' }]);
  });

  test('does not answer its repeat to callers who may not publish it, such as a token with fewer scopes', async () => {
    await publishRecord('alone-7');
    fixture.peers.say.authorise = async (_id, form) => {
      await draftIsGone(_id, form);
      throw new ServiceError('forbidden', 'The access token lacks the scope publish.');
    };
    expect(await failure(publishRecord('alone-7'))).toEqual({ kind: 'not_found', message: 'Not found.' });
    fixture.peers.say.authorise = async (_id, form) => {
      await draftIsGone(_id, form);
      throw new ServiceError('unavailable', 'Away.');
    };
    expect(await failure(publishRecord('alone-7'))).toMatchObject({ kind: 'unavailable' });
  });

  test('is not found when its draft went with another publication', async () => {
    fixture.peers.say.prepare = async () => ({ isPrepared: true, stagedIds: [] });
    expect(await failure(publishRecord('alone-4'))).toEqual({ kind: 'not_found', message: 'Not found.' });
  });

  test('is one publication for all concurrent callers', async () => {
    // As the records service does it: one publication holds the draft, and then there is none.
    let holder: string | undefined;
    let isShown = false;
    const gone = [{ field: 'id', messages: ['Not found.'], record: 'alone-5' }];
    fixture.peers.say.authorise = async (id, form) => {
      if (isShown) await draftIsGone(id, form);
    };
    fixture.peers.say.prepare = async ({ publicationId, ids }) => {
      if (isShown) return { isPrepared: false, issues: gone };
      holder ??= publicationId;
      return holder === publicationId
        ? { isPrepared: true, stagedIds: ids }
        : { isPrepared: false, blockedBy: holder };
    };
    fixture.peers.say.decide = async ({ isCommitted }) => {
      isShown ||= isCommitted;
    };
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => insist(() => publishRecord('alone-5'))),
    );
    expect(new Set(answers.map(({ publicationId }) => publicationId)).size).toBe(1);
  });

  test('is joined only by requests with the same If-Match, or with none', async () => {
    let finish = (): void => undefined;
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    fixture.peers.say.prepare = async ({ ids }) => {
      await finished;
      return { isPrepared: true, stagedIds: ids };
    };
    let requests = 0;
    fixture.peers.say.authorise = async () => {
      requests += 1;
    };
    const publish = (ifRevision: string) =>
      failure(
        first.publications.publish({ subject: 'SUBJECT_RECORD', id: 'alone-8', ifRevision }, OWNER, {
          timeoutMs: 60_000,
        }),
      );
    const running = publish('3');
    await until(() => fixture.peers.prepared.length === 1);
    const stale = publish('2');
    const outcome = await Promise.race([stale, pause(3_000)]);
    const joined = [publish('3'), publish('0')];
    await until(() => requests === 4);
    // An authorised request joins within milliseconds.
    await pause(500);
    finish();
    const answer = await running;
    expect(outcome).toMatchObject({ kind: 'conflict', code: 'draft_locked' });
    expect(answer).toMatchObject({ answered: { publicationId: expect.anything() } });
    expect(await Promise.all(joined)).toEqual([answer, answer]);
    expect(await fixture.database.publication.count({ where: { entityId: 'alone-8' } })).toBe(1);
  });

  test('answers the same to a request sent before the draft was deleted and processed after', async () => {
    const once = await publishRecord('alone-6');
    const overtaken = async (principal = OWNER) => {
      fixture.peers.say.authorise = async () => undefined;
      fixture.peers.say.prepare = async () => {
        fixture.peers.say.authorise = draftIsGone;
        const issues = [{ field: 'id', messages: ['Not found.'], record: 'alone-6' }];
        return { isPrepared: false, issues };
      };
      return failure(publishRecord('alone-6', first, principal));
    };
    expect([await overtaken(), await overtaken(STRANGER), await overtaken()]).toEqual([
      { answered: once },
      { kind: 'not_found', message: 'Not found.' },
      { answered: once },
    ]);
  });
});

describe('a publication in trouble', () => {
  test('waits for another that holds a draft, with a new epoch each time', async () => {
    const { id } = await aPackageWith(fixture, first, ['r1']);
    let refusals = 0;
    fixture.peers.say.prepare = async ({ ids }) => {
      refusals += 1;
      return refusals < 4 ? { isPrepared: false, blockedBy: uuidv7() } : { isPrepared: true, stagedIds: ids };
    };
    await publishPackage(id);
    expect(fixture.peers.prepared.map(({ epoch }) => epoch)).toEqual([1, 2, 3, 4]);
    expect(await settled(id)).toMatchObject({ state: 'DONE' });
  });

  test('stops waiting when the other does not release the lock', async () => {
    const { id } = await aPackageWith(fixture, first, ['r1']);
    fixture.peers.say.seal = async () => ({ isSealed: false, blockedBy: uuidv7() });
    expect(await failure(publishPackage(id, impatient))).toEqual({
      kind: 'conflict',
      message: 'The draft is being published.',
      code: 'draft_locked',
      retryAfterMs: 1000,
    });
    expect(await settled(id)).toMatchObject({ state: 'ABORT_DONE' });
    expect(await formsOf(id)).toEqual(UNTOUCHED);
    fixture.peers.reset();
    await publishPackage(id);
    expect(await formsOf(id)).toEqual(PUBLISHED);
  });

  test('repeats a call when a reply is lost after the work was done', async () => {
    const { id } = await aPackageWith(fixture, first, ['r1']);
    const lost = new Set<string>();
    const loseOnce = (step: string) => {
      if (lost.has(step)) return;
      lost.add(step);
      throw LOST;
    };
    fixture.peers.say = {
      ...fixture.peers.say,
      seal: async () => {
        loseOnce('seal');
        return { isSealed: true };
      },
      prepare: async ({ ids }) => {
        loseOnce('prepare');
        return { isPrepared: true, stagedIds: ids };
      },
      decide: async () => loseOnce('decide'),
      applyDecisionToBuckets: async () => loseOnce('applyDecisionToBuckets'),
    };
    await publishPackage(id);
    expect(await formsOf(id)).toEqual(PUBLISHED);
    expect(await settled(id)).toMatchObject({ state: 'DONE', applied: ['files', 'records'] });
    expect([...lost].sort()).toEqual(['applyDecisionToBuckets', 'decide', 'prepare', 'seal']);
    expect(new Set(fixture.peers.decided.map(({ isCommitted }) => isCommitted))).toEqual(new Set([true]));
  });

  test('is aborted when no participant answers, and all are notified later', async () => {
    const { id } = await aPackageWith(fixture, first, ['r1']);
    const gone = async () => {
      throw LOST;
    };
    fixture.peers.say = { ...fixture.peers.say, prepare: gone, decide: gone };
    expect(await failure(publishPackage(id, impatient))).toMatchObject({
      kind: 'unavailable',
      retryAfterMs: 1000,
    });
    expect(await formsOf(id)).toEqual(UNTOUCHED);
    fixture.peers.reset();
    expect(await settled(id)).toEqual({
      state: 'ABORT_DONE',
      publishedIds: [],
      applied: ['files', 'records'],
    });
    expect(fixture.peers.decided.at(-1)?.isCommitted).toBe(false);
  });

  test('repeats notifications only to participants that have not applied', async () => {
    const { id } = await aPackageWith(fixture, first, ['r1']);
    let failures = 3;
    fixture.peers.say.decide = async () => {
      failures -= 1;
      if (failures >= 0) throw LOST;
    };
    await publishPackage(id);
    await settled(id);
    expect(fixture.peers.calls.filter((call) => call === 'files commit')).toEqual(['files commit']);
    expect(fixture.peers.calls.filter((call) => call === 'records commit').length).toBe(4);
  });
});

function record(id: string) {
  return {
    id,
    parentId: `parent-${id}`,
    hasDraft: true,
    isPublished: false,
    managedBy: '',
    isReadable: true,
  };
}

async function parentOf(id: string): Promise<string> {
  return (await fixture.database.version.findUniqueOrThrow({ where: { id } })).parentId;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}

test('only services may query decisions', async () => {
  const ids = [uuidv7()];
  expect(await failure(first.publications.resolvePublications({ publicationIds: ids }, OWNER))).toEqual({
    kind: 'forbidden',
    message: 'Permission denied.',
  });
  expect(
    await failure(first.publications.resolvePublications({ publicationIds: ['x'] }, FILES)),
  ).toMatchObject({ kind: 'invalid' });
});
