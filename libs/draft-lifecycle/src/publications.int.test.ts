import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { actorOf } from '@kr/audit-trail';
import {
  COORDINATOR,
  callOf,
  GOOD_BODY,
  GOOD_METADATA,
  type LifecycleFixture,
  lifecycleFixture,
  OWNER,
  PART_BYTES,
  STRANGER,
} from './lifecycle-fixture.ts';
import { newEntityId } from './model/ids.ts';
import { applyDecisionToRecords } from './publication/decisions.ts';
import { publishInTransaction, validateOwnDraft } from './publication/own-publication.ts';
import { startStaleLockScanner } from './publication/stale-locks.ts';
import { validatePublication } from './publication/validate.ts';
import { lockUnchanged } from './store/staging.ts';

let life: LifecycleFixture;
beforeAll(async () => {
  life = await lifecycleFixture();
});
afterAll(() => life.close());

const ACTOR = actorOf(OWNER);
const NOT_REGISTERED = 'not_found: The persistent identifier is not registered.';
const NOT_FOUND = 'not_found: Not found.';
const LOCKED = { kind: 'conflict', code: 'draft_locked' };

const decide = (publicationId: string, isCommitted: boolean) =>
  applyDecisionToRecords(life.context)({ publicationId, isCommitted }, callOf(COORDINATOR));

async function severalDrafts(count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < count; n += 1) ids.push((await life.create()).id);
  return ids;
}

/** Everything a publication may leave behind. */
async function leftovers() {
  const [staged, locked, open] = await Promise.all([
    life.prisma.version.count({ where: { publicationId: { not: null } } }),
    life.prisma.draft.count({ where: { lockedBy: { not: null } } }),
    life.prisma.participant.count({ where: { state: 'prepared' } }),
  ]);
  return { staged, locked, open };
}

describe('a publication', () => {
  test('shows nothing before it is decided, everything after, with one event each', async () => {
    const [first, second] = (await severalDrafts(2)) as [string, string];
    const before = await life.read(first, 'draft');
    life.decisions.set('p1', 'undecided');
    expect(await life.prepare([first, second], 'p1')).toEqual({
      isPrepared: true,
      issues: [],
      stagedIds: [first, second],
      unchangedIds: [],
      remainingIds: [],
      bytes: '0',
    });
    expect(await life.read(first, 'published')).toBe(NOT_REGISTERED);
    expect(await life.read(first, 'draft')).toEqual(before);
    await expect(life.update(first, GOOD_BODY)).rejects.toMatchObject(LOCKED);
    await expect(
      life.handlers.DeleteDraft({ id: first, ifRevision: '0' }, callOf(OWNER)),
    ).rejects.toMatchObject(LOCKED);
    await expect(
      life.handlers.ReservePid({ id: first, scheme: 'doi', ifRevision: '0' }, callOf(OWNER)),
    ).rejects.toMatchObject(LOCKED);
    await expect(
      life.handlers.Authorise({ id: first, form: 'FORM_DRAFT', action: 'write_files' }, callOf(OWNER)),
    ).rejects.toMatchObject(LOCKED);

    life.decisions.set('p1', 'committed');
    expect(await life.read(second, 'published')).toMatchObject({
      revision: 2,
      isPublic: false,
      json: {
        is_published: true,
        is_draft: false,
        status: 'published',
        versions: { is_latest: true, is_latest_draft: true, index: 1 },
        pids: { oai: { identifier: `oai:repository.test:${second}`, provider: 'oai' } },
      },
    });
    expect(await life.read(first, 'draft')).toBe(NOT_FOUND);
    await decide('p1', true);
    await decide('p1', true);
    expect((await life.events()).filter(({ subject }) => subject.endsWith('record.published'))).toEqual(
      [first, second].sort().map((id) => ({
        subject: 'knowledge.records.record.published',
        aggregate_id: id,
        revision: 2,
      })),
    );
    expect(await leftovers()).toEqual({ staged: 0, locked: 0, open: 0 });
  });

  test('names every problem of every draft and changes nothing', async () => {
    const good = await life.create();
    const bad = await life.create({ files: { enabled: true }, metadata: { title: 'Only a title' } });
    const events = (await life.events()).length;
    const vote = await life.prepare([good.id, bad.id, 'zzzzz-zzzzz'], 'p2', {
      manifests: [{ entityId: bad.id, entries: 1, pending: 1, totalBytes: '3', keys: ['a'] }],
    });
    expect(vote).toEqual({
      isPrepared: false,
      stagedIds: [],
      unchangedIds: [],
      remainingIds: [],
      bytes: '0',
      issues: [
        { record: 'zzzzz-zzzzz', field: 'id', messages: ['The persistent identifier does not exist.'] },
        ...['resource_type', 'creators', 'publication_date'].map((name) => ({
          record: bad.id,
          field: `metadata.${name}`,
          messages: ['Missing data for required field.'],
        })),
        {
          record: bad.id,
          field: 'files',
          messages: ['One or more files have not completed their transfer, please wait.'],
        },
      ],
    });
    await expect(life.update(good.id, GOOD_BODY)).resolves.toMatchObject({ revision: 2 });
    expect((await life.events()).length).toBe(events + 1);
    expect(await leftovers()).toEqual({ staged: 0, locked: 0, open: 0 });
  });

  test('that is refused stays refused in its epoch and may be tried again in a later one', async () => {
    const { id } = await life.create({});
    expect((await life.prepare([id], 'p3')).isPrepared).toBe(false);
    await life.update(id, GOOD_BODY);
    expect((await life.prepare([id], 'p3')).isPrepared).toBe(false);
    expect((await life.prepare([id], 'p3', { epoch: 2 })).isPrepared).toBe(true);
    expect((await life.prepare([id], 'p3', { epoch: 2 })).stagedIds).toEqual([id]);
    await decide('p3', false);
  });

  test('that is aborted leaves the drafts as they were, and a late prepare changes nothing', async () => {
    const { id, json } = await life.create();
    await life.prepare([id], 'p4');
    await decide('p4', false);
    await decide('p4', false);
    expect(await life.read(id, 'draft')).toMatchObject({ json });
    expect((await life.prepare([id], 'p4', { epoch: 9 })).isPrepared).toBe(false);
    await expect(life.update(id, GOOD_BODY)).resolves.toMatchObject({ revision: 2 });

    await decide('never prepared', false);
    expect((await life.prepare([id], 'never prepared')).isPrepared).toBe(false);
    expect(await leftovers()).toEqual({ staged: 0, locked: 0, open: 0 });
  });

  test('shows what was validated even if the draft is changed behind the lock', async () => {
    const { id } = await life.create();
    await life.prepare([id], 'p5');
    await life.prisma.$executeRaw`
      update draft set document = jsonb_set(document, '{metadata,title}', '"Smuggled in"') where id = ${id}`;
    await decide('p5', true);
    expect(await life.read(id, 'published')).toMatchObject({ json: { metadata: { title: 'Flood map' } } });
  });

  test('whose coordinator cannot be reached neither exists nor is missing', async () => {
    const { id } = await life.create();
    await life.prepare([id], 'p6');
    life.world.isCoordinatorUp = false;
    const other = await life.create();
    const unavailable = 'unavailable: A publication is being decided.';
    expect([await life.read(id, 'published'), await life.read(id, 'draft')]).toEqual([
      unavailable,
      unavailable,
    ]);
    await expect(life.handlers.EditPublished({ id, ifRevision: '0' }, callOf(OWNER))).rejects.toMatchObject({
      kind: 'unavailable',
      retryAfterMs: 1_000,
    });
    const refs = [id, other.id].map((one) => ({ id: one, form: 'FORM_DRAFT' as const }));
    const { results } = await life.handlers.ReadEntities({ refs }, callOf(OWNER));
    expect(results?.map(({ document, error }) => document?.id ?? error?.kind)).toEqual([
      'unavailable',
      other.id,
    ]);
    await expect(life.update(id, GOOD_BODY)).rejects.toMatchObject(LOCKED);
    life.world.isCoordinatorUp = true;
    life.decisions.set('p6', 'committed');
    expect(await life.read(id, 'published')).toMatchObject({ id });
    await expect(life.update(id, GOOD_BODY)).rejects.toMatchObject({
      kind: 'not_found',
      message: 'Not found.',
    });
  });

  test('is queried until it is decided, and then never again', async () => {
    const { id } = await life.create();
    life.decisions.set('p7', 'undecided');
    await life.prepare([id], 'p7');
    life.world.questions = 0;
    for (let n = 0; n < 3; n += 1) await life.read(id, 'published');
    expect(life.world.questions).toBe(3);
    life.decisions.set('p7', 'committed');
    await Promise.all(Array.from({ length: 8 }, () => life.read(id, 'published')));
    life.world.questions = 0;
    await life.read(id, 'published');
    expect(life.world.questions).toBe(0);
  });

  test('that was decided without this service having agreed is an alarm', async () => {
    await expect(decide('unheard of', true)).rejects.toMatchObject({ kind: 'internal' });
    const { id } = await life.create();
    await life.prepare([id], 'p8');
    await decide('p8', true);
    await expect(decide('p8', false)).rejects.toMatchObject({ kind: 'internal' });
    expect(await life.read(id, 'published')).toMatchObject({ id });
  });

  test('is for services only', async () => {
    const request = { publicationId: 'p9', isCommitted: false };
    await expect(applyDecisionToRecords(life.context)(request, callOf(OWNER))).rejects.toMatchObject({
      kind: 'forbidden',
    });
  });
});

describe('two publications that meet', () => {
  test('on one draft: one locks it, the error of the other names it', async () => {
    const ids = await severalDrafts(3);
    life.decisions.set('q1', 'undecided').set('q2', 'undecided');
    const votes = await Promise.all([life.prepare(ids, 'q1'), life.prepare([...ids].reverse(), 'q2')]);
    const winner = votes.findIndex(({ isPrepared }) => isPrepared === true);
    expect(votes[1 - winner]).toEqual({ isPrepared: false, blockedBy: winner === 0 ? 'q1' : 'q2' });
    await decide('q1', false);
    await decide('q2', false);
    expect(await leftovers()).toEqual({ staged: 0, locked: 0, open: 0 });
  });

  test('one after the other: what the first published is left unchanged by the second', async () => {
    const { id } = await life.create();
    await life.prepare([id], 'q3');
    life.decisions.set('q3', 'committed');
    const vote = await life.prepare([id], 'q4', { packageId: 'package', packageParentId: 'context' });
    expect(vote).toMatchObject({ isPrepared: true, stagedIds: [], unchangedIds: [id] });
    await decide('q4', true);
    expect(await life.read(id, 'published')).toMatchObject({ revision: 2 });
  });

  test('a draft is not published by a package that does not manage it', async () => {
    const { id } = await life.create();
    const vote = await life.prepare([id], 'q5', { packageId: 'package', packageParentId: 'context' });
    expect(vote.issues).toEqual([
      {
        record: id,
        field: 'parent.relationship.managed_by',
        messages: ["This record is a draft and can't be linked to the package as a resource."],
      },
    ]);
  });
});

describe('a publication that is prepared in parts', () => {
  /** One is more than a part may be. */
  const LARGE = { ...GOOD_BODY, metadata: { ...GOOD_METADATA, description: 'word '.repeat(PART_BYTES / 4) } };

  async function inParts(publicationId: string, ids: string[]) {
    const votes = [];
    for (let left = ids, epoch = 1; left.length > 0; epoch += 1) {
      const vote = await life.prepare(left, publicationId, { epoch, inParts: true });
      votes.push(vote);
      left = vote.remainingIds ?? [];
    }
    return votes;
  }

  const published = (ids: string[]) => Promise.all(ids.map((id) => life.read(id, 'published')));

  async function largeDrafts(count: number): Promise<string[]> {
    const ids: string[] = [];
    for (let n = 0; n < count; n += 1) ids.push((await life.create(LARGE)).id);
    return ids;
  }

  test('takes small drafts together and large ones one by one, and shows all at once', async () => {
    const [a = '', b = ''] = await largeDrafts(2);
    const small = await severalDrafts(2);
    const ids = [...small, a, b];
    life.decisions.set('s1', 'undecided');
    const votes = await inParts('s1', ids);
    expect(
      votes.map(({ isPrepared, stagedIds, remainingIds }) => ({ isPrepared, stagedIds, remainingIds })),
    ).toEqual([
      { isPrepared: true, stagedIds: [...small, a], remainingIds: [b] },
      { isPrepared: true, stagedIds: ids, remainingIds: [] },
    ]);
    expect(votes.every(({ bytes }) => Number(bytes) >= PART_BYTES)).toBe(true);
    expect(await published(ids)).toEqual(ids.map(() => NOT_REGISTERED));

    await decide('s1', true);
    expect(await published(ids)).toMatchObject(ids.map((id) => ({ id, revision: 2 })));
    expect(await leftovers()).toEqual({ staged: 0, locked: 0, open: 0 });
  });

  test('is dropped whole when it is aborted between two parts', async () => {
    const ids = await largeDrafts(2);
    life.decisions.set('s2', 'undecided');
    expect(await life.prepare(ids, 's2', { inParts: true })).toMatchObject({ remainingIds: [ids[1]] });
    expect(await leftovers()).toEqual({ staged: 1, locked: 1, open: 1 });
    await decide('s2', false);
    expect(await leftovers()).toEqual({ staged: 0, locked: 0, open: 0 });
    const late = await life.prepare(ids.slice(1), 's2', { epoch: 2, inParts: true });
    expect(late).toMatchObject({ isPrepared: false, remainingIds: [] });
  });

  test('keeps its agreement when the rest is refused, or requested by a former owner', async () => {
    const [good = ''] = await largeDrafts(1);
    const { id: bad } = await life.create({});
    life.decisions.set('s3', 'undecided');
    await life.prepare([good, bad], 's3', { epoch: 3, inParts: true });
    expect(await life.prepare([bad], 's3', { epoch: 4, inParts: true })).toMatchObject({ isPrepared: false });
    expect(await life.prepare([good, bad], 's3', { epoch: 2 })).toMatchObject({ isPrepared: false });
    expect(await leftovers()).toEqual({ staged: 1, locked: 1, open: 1 });

    await life.update(bad, GOOD_BODY);
    const vote = await life.prepare([good, bad], 's3', { epoch: 5 });
    expect(vote).toMatchObject({ isPrepared: true, stagedIds: [good, bad] });
    await decide('s3', true);
    expect(await leftovers()).toEqual({ staged: 0, locked: 0, open: 0 });
  });

  test('reads nothing of the former version', async () => {
    const ids = await largeDrafts(3);
    for (const id of ids) await life.publish(id);
    const vote = await life.prepare(ids, 's4', { packageId: 'p', packageParentId: 'pp', inParts: true });
    expect(vote).toMatchObject({ isPrepared: true, unchangedIds: ids, remainingIds: [], bytes: '0' });
    await decide('s4', true);
  });

  test('takes as many statements for a part as for all', async () => {
    const ids = await largeDrafts(3);
    life.decisions.set('s5', 'undecided');
    const count = async (more: object) =>
      (await life.statementsOf(() => life.prepare(ids, 's5', more))).length;
    expect(await count({ inParts: true })).toBe(await count({ epoch: 2 }));
    await decide('s5', false);
  });
});

describe('an edit that races a publication', () => {
  test('is either published or refused, never lost', async () => {
    for (let round = 0; round < 20; round += 1) {
      const { id } = await life.create();
      const publicationId = `race ${round}`;
      life.decisions.set(publicationId, 'undecided');
      const [edit] = await Promise.allSettled([
        life.update(id, { ...GOOD_BODY, metadata: { ...GOOD_METADATA, title: 'Edited in time' } }),
        life.prepare([id], publicationId),
      ]);
      await decide(publicationId, true);
      const expected = edit.status === 'fulfilled' ? 'Edited in time' : 'Flood map';
      expect(await life.read(id, 'published')).toMatchObject({ json: { metadata: { title: expected } } });
    }
  });
});

describe('the number of statements', () => {
  const managed = { packageId: 'package', packageParentId: 'context' };

  test.each([['prepare'], ['decide']])('to %s does not depend on the number of drafts', async (step) => {
    const measured: number[] = [];
    for (const count of [1, 25]) {
      const ids = await severalDrafts(count);
      await life.prisma.parent.updateMany({
        where: { versions: { some: { id: { in: ids } } } },
        data: { managedBy: 'context', managedAt: new Date() },
      });
      const publicationId = newEntityId();
      const prepare = () => life.prepare(ids, publicationId, managed);
      const [prepared, decided] = [
        await life.statementsOf(prepare),
        await life.statementsOf(() => decide(publicationId, true)),
      ];
      measured.push(step === 'prepare' ? prepared.length : decided.length);
    }
    expect(measured[0]).toBe(measured[1]);
  });
});

describe('the scanner of stale locks', () => {
  test('resolves old locks at once and on its timer, and leaves undecided locks', async () => {
    const [one, two] = (await severalDrafts(2)) as [string, string];
    life.decisions.set('j1', 'aborted').set('j2', 'undecided');
    await life.prepare([one], 'j1');
    await life.prepare([two], 'j2');
    life.world.now = new Date(life.world.now.getTime() + 3_000);
    const scanner = startStaleLockScanner(life.context, 60_000);
    await scanner.stop();
    expect(await leftovers()).toEqual({ staged: 1, locked: 1, open: 1 });
    life.decisions.set('j2', 'committed');
    await startStaleLockScanner(life.context, 60_000).stop();
    expect(await leftovers()).toEqual({ staged: 0, locked: 0, open: 0 });
  });
});

describe('the coordinator’s own entity', () => {
  const counts = { entries: 0, pending: 0, totalBytes: 0, keys: [] };
  /** As a coordinator does, in the statement that writes its own row; the ids that it has locked. */
  const lock = (id: string, revision: number, publicationId: string) =>
    life.prisma.$queryRawUnsafe<{ id: string }[]>(
      `with ${lockUnchanged('$1', '$2', '$3')} select id from locked`,
      id,
      revision,
      publicationId,
    );

  test('is locked, checked and shown in the coordinator’s transactions', async () => {
    const { id } = await life.create();
    const { prisma, context } = life;
    expect(await lock(id, 2, 'own')).toEqual([]);
    expect(await lock(id, 1, 'own')).toEqual([{ id }]);
    expect(await lock(id, 1, 'other')).toEqual([]);
    expect(await validateOwnDraft(context, prisma, id, counts)).toEqual([]);
    const published = await prisma.$transaction((tx) =>
      publishInTransaction(context, tx, { publicationId: 'own', id, counts, recordIds: [], actor: ACTOR }),
    );
    expect(published).toMatchObject({ id, revision: 2 });
    expect(await life.read(id, 'published')).toMatchObject({ revision: 2 });
    expect(await life.read(id, 'draft')).toBe(NOT_FOUND);
  });

  test('is as before when it is unlocked', async () => {
    const { id, json } = await life.create();
    const { prisma } = life;
    expect(await lock('none', 1, 'own2')).toEqual([]);
    expect(await lock(id, 1, 'own2')).toEqual([{ id }]);
    await prisma.$transaction((tx) => life.context.store.unlockDrafts(tx, 'own2'));
    expect(await life.read(id, 'draft')).toMatchObject({ json });
    await expect(
      prisma.$transaction((tx) =>
        publishInTransaction(life.context, tx, {
          publicationId: 'own2',
          id,
          counts,
          recordIds: [],
          actor: ACTOR,
        }),
      ),
    ).rejects.toMatchObject(LOCKED);
  });
});

describe('what follows a publication', () => {
  const edit = (id: string, principal = OWNER) =>
    life.handlers.EditPublished({ id, ifRevision: '0' }, callOf(principal));
  const next = (id: string) => life.handlers.CreateVersion({ id, ifRevision: '0' }, callOf(OWNER));
  const remove = (id: string) => life.handlers.DeleteDraft({ id, ifRevision: '0' }, callOf(OWNER));

  test('an edit draft: opened once, published over the same id, revisions only growing', async () => {
    const { id } = await life.create();
    await expect(edit(id, STRANGER)).rejects.toMatchObject({ kind: 'forbidden' });
    await life.publish(id);
    expect(await life.read(id, 'draft')).toBe(NOT_FOUND);
    const [one, two] = await Promise.all([edit(id), edit(id)]);
    expect(one.document).toEqual(two.document);
    expect(JSON.parse(String(one.document?.json))).toMatchObject({
      is_published: false,
      is_draft: true,
      status: 'published',
      revision_id: 3,
      versions: { is_latest: true, is_latest_draft: true, index: 1 },
      pids: { oai: { provider: 'oai' } },
    });
    await remove(id);
    await expect(remove(id)).rejects.toMatchObject({ kind: 'not_found', message: 'Not found.' });
    expect((await edit(id)).document).toMatchObject({ revision: '5' });
    const changed = { ...GOOD_BODY, pids: {}, metadata: { ...GOOD_METADATA, title: 'Edited' } };
    expect((await life.update(id, changed)).json['pids']).toMatchObject({ oai: { provider: 'oai' } });
    await life.publish(id);
    expect(await life.read(id, 'published')).toMatchObject({
      revision: 7,
      json: { metadata: { title: 'Edited', publication_date: '2024-03-01' }, versions: { index: 1 } },
    });
  });

  test('a new version: opened once, without date, version and pids; latest moves when it is published', async () => {
    const first = await life.create({
      ...GOOD_BODY,
      metadata: { ...GOOD_METADATA, version: '1.0' },
    });
    await expect(next(first.id)).rejects.toMatchObject({
      message: 'The persistent identifier is not registered.',
    });
    await life.handlers.ReservePid({ id: first.id, scheme: 'doi', ifRevision: '0' }, callOf(OWNER));
    await life.update(first.id, { ...GOOD_BODY, metadata: { ...GOOD_METADATA, publisher: 'GEO' } });
    await life.publish(first.id);

    const [one, two] = await Promise.all([next(first.id), next(first.id)]);
    const second = one.document?.id ?? '';
    expect(two.document?.id).toBe(second);
    const draft = JSON.parse(String(one.document?.json));
    expect(draft).toMatchObject({
      parent: { id: first.parentId },
      status: 'new_version_draft',
      is_published: false,
      pids: {},
      versions: { is_latest: false, is_latest_draft: true, index: 2 },
    });
    expect(Object.keys(draft.metadata)).not.toEqual(expect.arrayContaining(['publication_date']));
    expect(await life.read(first.id, 'published')).toMatchObject({
      json: { versions: { is_latest: true, is_latest_draft: false, index: 1 } },
    });
    expect((await life.prepare([second], newEntityId())).issues).toEqual([
      {
        record: second,
        field: 'metadata.publication_date',
        messages: ['Missing data for required field.'],
      },
    ]);

    await remove(second);
    expect(await life.read(first.id, 'published')).toMatchObject({
      json: { versions: { is_latest_draft: true } },
    });
    const third = (await next(first.id)).document?.id ?? '';
    await life.update(third, GOOD_BODY);
    life.decisions.set('v2', 'committed');
    await life.prepare([third], 'v2');
    expect(await life.read(first.id, 'published')).toMatchObject({
      json: { versions: { is_latest: false, is_latest_draft: false, index: 1 } },
    });
    const latest = await life.handlers.ReadLatest({ id: first.id }, callOf(STRANGER));
    expect(latest.document).toMatchObject({ id: third, isPublic: true });
    const listed = await life.handlers.ListVersions({ id: third, size: 10, page: 1 }, callOf(STRANGER));
    expect([listed.total, listed.documents?.map(({ id }) => id)]).toEqual([2, [third, first.id]]);
    const paged = await life.handlers.ListVersions({ id: third, size: 1, page: 2 }, callOf(STRANGER));
    expect([paged.total, paged.documents?.map(({ id }) => id)]).toEqual([2, [first.id]]);
  });

  test('an embargo ends on its day, without any action', async () => {
    const start = life.world.now;
    const { id } = await life.create({
      ...GOOD_BODY,
      access: { record: 'restricted', files: 'restricted', embargo: { active: true, until: '2026-02-01' } },
    });
    await life.publish(id);
    expect(await life.read(id, 'published', STRANGER)).toBe('forbidden: Permission denied.');
    expect(await life.read(id, 'published')).toMatchObject({ variant: '' });
    life.world.now = new Date('2026-02-01T00:00:00Z');
    expect(await life.read(id, 'published')).toMatchObject({ variant: expect.stringMatching(/^[\w-]{16}$/) });
    expect(await life.read(id, 'published', STRANGER)).toMatchObject({
      isPublic: true,
      json: {
        access: {
          record: 'public',
          files: 'public',
          embargo: { active: false, until: '2026-02-01', reason: null },
          status: 'metadata-only',
        },
      },
    });
    life.world.now = start;
  });
});

describe('validating drafts', () => {
  const validate = async (ids: string[], packageParentId = '', publicationId = '', packageDoi = '') => {
    const request = { packageParentId, ids, publicationId, packageDoi };
    const { issues } = await validatePublication(life.context)(request, callOf(COORDINATOR));
    return issues;
  };

  test('finds what preparing finds, by as many statements for many as for one, and writes nothing', async () => {
    const good = await severalDrafts(20);
    const bad = [
      await life.create({ files: { enabled: true }, metadata: {} }),
      await life.create({ ...GOOD_BODY, metadata: { ...GOOD_METADATA, title: '' } }),
    ].map(({ id }) => id);
    const ids = [...good, ...bad, newEntityId()];
    const writes = (statements: string[]) => statements.filter((text) => !/^\s*select/i.test(text));
    const one = await life.statementsOf(() => validate(good.slice(0, 1)));
    const many = await life.statementsOf(() => validate(ids));
    expect([many.length, writes(many), await validate(good)]).toEqual([one.length, [], []]);

    const issues = await validate(ids);
    const vote = await life.prepare(ids, `after validating ${newEntityId()}`);
    expect({ isPrepared: vote.isPrepared, issues: vote.issues }).toEqual({ isPrepared: false, issues });
  });

  test('names the publication that locks a draft, and ignores its own', async () => {
    const [id] = (await severalDrafts(1)) as [string];
    const publicationId = `holds ${id}`;
    life.decisions.set(publicationId, 'undecided');
    await life.prepare([id], publicationId);
    await expect(validate([id])).rejects.toMatchObject(LOCKED);
    expect(await validate([id], '', publicationId)).toEqual([]);
    life.decisions.set(publicationId, 'aborted');
    expect(await validate([id])).toEqual([]);
  });

  test('finds a draft with the DOI of its package, however it is spelled', async () => {
    const pids = { doi: { identifier: '10.1234/Of-The-Package', provider: 'external' } };
    const { id } = await life.create({ ...GOOD_BODY, pids });
    expect(await validate([id])).toEqual([]);
    expect(await validate([id], '', '', '10.1234/of-the-package')).toMatchObject([
      { field: 'pids.doi', messages: ['doi:10.1234/Of-The-Package already exists.'] },
    ]);
  });

  test('is for services', async () => {
    const request = { packageParentId: '', ids: [], publicationId: '', packageDoi: '' };
    await expect(validatePublication(life.context)(request, callOf(OWNER))).rejects.toMatchObject({
      kind: 'forbidden',
    });
    await expect(life.handlers.AwaitEventsSent({}, callOf(OWNER))).rejects.toMatchObject({
      kind: 'forbidden',
    });
    expect(await life.handlers.AwaitEventsSent({}, callOf(COORDINATOR))).toEqual({ areSent: true });
  });
});
