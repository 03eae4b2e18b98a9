import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { openDatabase } from '@kr/database';
import { ServiceError } from '@kr/service-error';
import { type Cut, FaultProxy, until } from '@kr/testbed';
import { v7 as uuidv7 } from 'uuid';
import type { PackagesConfig } from '../config.ts';
import {
  aPackageWith,
  FILES,
  OWNER,
  type PackagesFixture,
  packagesFixture,
  type Replica,
} from '../testing/packages-fixture.ts';
import { LOST } from '../testing/scripted-peers.ts';
import { abandonedPublications } from './abandoned-publications.ts';
import { deleteOldOnce } from './maintenance.ts';
import { publicationStore } from './publication-store.ts';
import { runPublication } from './run-publication.ts';

let fixture: PackagesFixture;
let editor: Replica;
const started: Replica[] = [];
/** For replicas that must not scan for unfinished publications: longer than any run. */
const NEVER_MS = 3_600_000;

beforeAll(async () => {
  fixture = await packagesFixture();
  // It never looks for unfinished publications: those of these tests are left to the replicas they start.
  editor = await fixture.start({ scanEveryMs: NEVER_MS });
});
afterAll(() => fixture.stop());
beforeEach(() => fixture.peers.reset());
afterEach(async () => {
  await Promise.all(started.splice(0).map((replica) => replica.stop()));
});

async function start(publish: Partial<PackagesConfig['publish']> = {}): Promise<Replica> {
  const replica = await fixture.start(publish);
  started.push(replica);
  return replica;
}

const publishPackage = (id: string, replica: Replica, timeoutMs = 60_000) =>
  replica.publications.publish({ subject: 'SUBJECT_PACKAGE', id }, OWNER, { timeoutMs });

/** As when its owner has been silent for so long. */
const endLease = (entityId: string, more: { deadline?: Date } = {}) =>
  fixture.database.publication.updateMany({
    where: { entityId },
    data: { leaseUntil: new Date(Date.now() - 1), ...more },
  });

const lastOf = (entityId: string) =>
  fixture.database.publication.findFirstOrThrow({ where: { entityId }, orderBy: { createdAt: 'desc' } });

async function reaches(entityId: string, state: string): Promise<void> {
  await until(async () => (await lastOf(entityId)).state === state);
}

async function decisionOf(publicationId: string, replica: Replica): Promise<unknown> {
  const { decisions } = await replica.publications.resolvePublications(
    { publicationIds: [publicationId] },
    FILES,
  );
  return decisions[0]?.decision;
}

async function formsOf(id: string): Promise<object> {
  const version = await fixture.database.version.findUniqueOrThrow({
    where: { id },
    include: { draft: true },
  });
  const { visible, draft } = version;
  return { visible, draft: draft === null ? null : { lockedBy: draft.lockedBy } };
}

const PUBLISHED = { visible: true, draft: null };
const UNTOUCHED = { visible: false, draft: { lockedBy: null } };

/** A publication as left by a process that dies right after T1: reserved, without any call. */
async function reserved(id: string, { leaseMs = -1, deadlineMs = 30_000 } = {}): Promise<string> {
  const publicationId = uuidv7();
  const ids = (await fixture.database.packageResource.findMany({ where: { packageId: id } })).map(
    ({ resourceId }) => resourceId,
  );
  const { parentId } = await fixture.database.version.findUniqueOrThrow({ where: { id } });
  const now = Date.now();
  await fixture.database.$transaction([
    fixture.database.draft.update({ where: { id }, data: { lockedBy: publicationId } }),
    fixture.database.publication.create({
      data: {
        id: publicationId,
        subject: 'package',
        entityId: id,
        packageParentId: parentId,
        state: 'PREPARING',
        epoch: 1,
        leaseUntil: new Date(now + leaseMs),
        deadline: new Date(now + deadlineMs),
        resourceIds: ids,
        participants: ['files', 'records'],
        snapshot: {},
        requestedBy: 'user:owner',
        createdAt: new Date(now),
      },
    }),
  ]);
  return publicationId;
}

describe('a coordinator that starts', () => {
  test('finishes what another left right after it was reserved', async () => {
    const { id } = await aPackageWith(fixture, editor, ['r1']);
    const publicationId = await reserved(id);
    await start();
    await reaches(id, 'DONE');
    expect(await formsOf(id)).toEqual(PUBLISHED);
    expect(fixture.peers.prepared).toEqual([
      expect.objectContaining({ publicationId, epoch: 2, ids: ['r1'] }),
    ]);
  });

  test('leaves alone what another still holds', async () => {
    const { id } = await aPackageWith(fixture, editor, ['r1']);
    const replica = await start();
    await reserved(id, { leaseMs: 60_000 });
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(fixture.peers.calls).toEqual([]);
    await endLease(id);
    const answer = await publishPackage(id, replica);
    expect(answer).toMatchObject({ publicationId: (await lastOf(id)).id });
    expect(await formsOf(id)).toEqual(PUBLISHED);
  });

  test('finishes publications of another process, however many others it drives', async () => {
    const { id } = await aPackageWith(fixture, editor, ['r1']);
    const replica = await start({ scanEveryMs: 20 });
    let finish = (): void => undefined;
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    fixture.peers.say.prepare = async ({ ids }) => {
      if (!ids.includes('r1')) await finished;
      return { isPrepared: true, stagedIds: ids };
    };
    const own = Array.from({ length: 25 }, (_, index) =>
      replica.publications.publish({ subject: 'SUBJECT_RECORD', id: `own-${index}` }, OWNER, {
        timeoutMs: 60_000,
      }),
    );
    await until(() => fixture.peers.prepared.length === own.length);
    await reserved(id);
    const isFinished = reaches(id, 'DONE').then(() => true);
    const isFinishedFirst = await Promise.race([
      isFinished,
      new Promise((resolve) => setTimeout(resolve, 5_000)),
    ]);
    finish();
    await Promise.all([...own, isFinished]);
    expect(isFinishedFirst).toBe(true);
  });

  test('stops waiting in time for a silent participant, however short its lease is', async () => {
    const { id } = await aPackageWith(fixture, editor, ['r1']);
    const { promise, resolve } = Promise.withResolvers<{ isSealed: boolean }>();
    fixture.peers.say.seal = () => promise;
    const replica = await start({ leaseMs: 2_000, reachMs: 3_000, deadlineMs: 600_000, scanEveryMs: 50 });
    const answer = publishPackage(id, replica, 60_000).catch(({ kind }) => kind);
    await until(async () => ['ABORTED', 'ABORT_DONE'].includes((await lastOf(id)).state));
    resolve({ isSealed: true });
    expect(await answer).toBe('unavailable');
    await reaches(id, 'ABORT_DONE');
    expect(await formsOf(id)).toEqual(UNTOUCHED);
  });

  test('aborts what is past its deadline', async () => {
    const { id } = await aPackageWith(fixture, editor, ['r1']);
    const publicationId = await reserved(id, { deadlineMs: -1 });
    await start();
    await reaches(id, 'ABORT_DONE');
    expect(await formsOf(id)).toEqual(UNTOUCHED);
    expect(fixture.peers.calls.sort()).toEqual(['files abort', 'records abort']);
    expect(fixture.peers.decided).toEqual([{ publicationId, isCommitted: false }]);
  });

  test('notifies all participants of an unannounced commit', async () => {
    const { id } = await aPackageWith(fixture, editor, ['r1']);
    fixture.peers.say.decide = async () => {
      throw LOST;
    };
    fixture.peers.say.applyDecisionToBuckets = async () => {
      throw LOST;
    };
    const { publicationId } = await publishPackage(id, editor);
    await until(async () => fixture.peers.bucketsDecided.length > 0 && fixture.peers.decided.length > 0);
    fixture.peers.reset();
    await start();
    await reaches(id, 'DONE');
    expect(fixture.peers.decided).toEqual([{ publicationId, isCommitted: true }]);
    expect(fixture.peers.bucketsDecided).toEqual([
      { publicationId, isCommitted: true, publishedIds: [id, 'r1'] },
    ]);
  });

  test('shares the unfinished with a second that starts at the same time', async () => {
    const ids: string[] = [];
    for (let count = 0; count < 12; count += 1) {
      const { id } = await aPackageWith(fixture, editor, [`shared-${count}`]);
      await reserved(id);
      ids.push(id);
    }
    await Promise.all([start(), start()]);
    for (const id of ids) await reaches(id, 'DONE');
    expect(fixture.peers.prepared.map(({ ids }) => ids.join()).sort()).toEqual(
      ids.map((_, count) => `shared-${count}`).sort(),
    );
  });
});

describe('an owner that pauses', () => {
  test('changes nothing after another has taken over, and gives the answer of the other', async () => {
    const { id } = await aPackageWith(fixture, editor, ['r1']);
    const gate = Promise.withResolvers<void>();
    let votes = 0;
    fixture.peers.say.prepare = async ({ ids }) => {
      votes += 1;
      if (votes === 1) await gate.promise;
      return { isPrepared: true, stagedIds: ids };
    };
    const paused = await start({ scanEveryMs: NEVER_MS });
    const answer = publishPackage(id, paused);
    await until(() => votes === 1);
    await endLease(id);
    await start();
    await reaches(id, 'DONE');
    gate.resolve();
    const row = await lastOf(id);
    expect(await answer).toMatchObject({ publicationId: row.id });
    expect({ epoch: row.epoch, state: row.state }).toEqual({ epoch: 2, state: 'DONE' });
    const events = await fixture.database.$queryRaw<object[]>`
      select 1 from outbox where aggregate_id = ${id} and subject = 'knowledge.packages.package.published'`;
    expect(events.length).toBe(1);
  });

  test('obeys an abort that was written while it waited for the vote', async () => {
    const { id } = await aPackageWith(fixture, editor, ['r1']);
    const gate = Promise.withResolvers<void>();
    fixture.peers.say.prepare = async ({ ids }) => {
      await gate.promise;
      return { isPrepared: true, stagedIds: ids };
    };
    const paused = await start({ scanEveryMs: NEVER_MS });
    const answer = publishPackage(id, paused).catch((thrown: unknown) => ServiceError.from(thrown).kind);
    await until(() => fixture.peers.prepared.length === 1);
    const { id: publicationId } = await lastOf(id);
    expect(await decisionOf(publicationId, editor)).toBe('DECISION_UNDECIDED');
    await endLease(id, { deadline: new Date(Date.now() - 1) });
    expect(await decisionOf(publicationId, editor)).toBe('DECISION_ABORTED');
    expect(await formsOf(id)).toEqual(UNTOUCHED);
    gate.resolve();
    expect(await answer).toBe('unavailable');
    expect(await decisionOf(publicationId, editor)).toBe('DECISION_ABORTED');
    expect(await formsOf(id)).toEqual(UNTOUCHED);
  });
});

const isCommit = (bytes: Buffer) => bytes.includes('COMMIT');

describe('a connection that is lost inside the commit', () => {
  // Of the commits of one publish the first reserves and the second is the commit point.
  test.each<[where: string, cut: Cut]>([
    ['before it', { direction: 'to server', afterBytes: 0, when: isCommit }],
    ['before its reply', { direction: 'to client', afterBytes: 0, when: isCommit }],
    ['within its reply', { direction: 'to client', afterBytes: 7, when: isCommit }],
  ])('is queried: cut %s', async (where, cut) => {
    const proxy = await FaultProxy.start(new URL(fixture.databaseUrl).host);
    try {
      const throughProxy = new URL(proxy.urlThrough(fixture.databaseUrl));
      const replica = await fixture.start({ scanEveryMs: NEVER_MS }, throughProxy);
      const { id } = await aPackageWith(fixture, editor, [`cut ${where}`]);
      fixture.peers.say.prepare = async ({ ids }) => {
        proxy.cutNext(cut);
        return { isPrepared: true, stagedIds: ids };
      };
      const { publicationId } = await publishPackage(id, replica);
      expect({ cuts: proxy.cuts, publicationId }).toEqual({ cuts: 1, publicationId: (await lastOf(id)).id });
      await reaches(id, 'DONE');
      expect(await formsOf(id)).toEqual(PUBLISHED);
      const events = await fixture.database.$queryRaw<object[]>`
        select 1 from outbox where aggregate_id = ${id} and subject = 'knowledge.packages.package.published'`;
      expect(events.length).toBe(1);
      await replica.stop();
    } finally {
      await proxy.stop();
    }
  });
});

describe('an owner that was away longer than its lease', () => {
  test('does not take the epoch of the next owner for its own', async () => {
    const { id } = await aPackageWith(fixture, editor, ['r1']);
    const publicationId = await reserved(id);
    const database = openDatabase(new URL(fixture.databaseUrl));
    const neverAsked = async () => {
      throw new Error('a package without owner');
    };
    const store = {
      database,
      packageVersion: { read: neverAsked, check: neverAsked, publish: neverAsked, unlock: neverAsked },
      times: { leaseMs: 60_000, deadlineMs: 60_000 },
      onExpired: () => undefined,
    };
    const log = publicationStore(store);
    const late = await log.read(publicationId);
    if (late === undefined) throw new Error('it was reserved');
    let seals = 0;
    const drive = runPublication(
      {
        now: () => new Date(),
        sleep: async () => undefined,
        publications: log,
        participants: {
          seal: async () => {
            seals += 1;
            // Meanwhile the lease has run out and somebody else goes on.
            await abandonedPublications(store).claim(100, new Date());
            return { outcome: 'blocked' };
          },
          prepare: neverAsked,
          notify: neverAsked,
        },
        onFact: () => undefined,
      },
      late,
      { blockedMs: 60_000, reachMs: 60_000, retryMs: 1, maxBytes: 1_000_000 },
    );
    await drive.finished;
    expect([await drive.answer, seals]).toEqual([{ outcome: 'elsewhere' }, 1]);
    await database.close();
  });
});

describe('decisions', () => {
  test('never change, by any writer', async () => {
    const { id } = await aPackageWith(fixture, editor, ['r1']);
    const { publicationId } = await publishPackage(id, editor);
    for (const state of ['PREPARING', 'ABORTED', 'ABORT_DONE']) {
      await expect(
        fixture.database.publication.updateMany({
          where: { id: publicationId },
          data: { state, decidedAt: state === 'PREPARING' ? null : new Date() },
        }),
      ).rejects.toThrow();
    }
    expect(await decisionOf(publicationId, editor)).toBe('DECISION_COMMITTED');
  });

  test('of unknown publications are aborted permanently', async () => {
    const unheardOf = uuidv7();
    const answers = await Promise.all(Array.from({ length: 10 }, () => decisionOf(unheardOf, editor)));
    expect(new Set(answers)).toEqual(new Set(['DECISION_ABORTED']));
    expect(await fixture.database.publication.findUnique({ where: { id: unheardOf } })).toMatchObject({
      state: 'ABORT_DONE',
    });
    await expect(
      fixture.database.publication.updateMany({ where: { id: unheardOf }, data: { state: 'COMMITTED' } }),
    ).rejects.toThrow();
  });

  test('are returned in the requested order', async () => {
    const { id } = await aPackageWith(fixture, editor, ['r1']);
    const { publicationId } = await publishPackage(id, editor);
    const unheardOf = uuidv7();
    const publicationIds = [unheardOf, publicationId, unheardOf];
    expect((await editor.publications.resolvePublications({ publicationIds }, FILES)).decisions).toEqual([
      { publicationId: unheardOf, decision: 'DECISION_ABORTED' },
      { publicationId, decision: 'DECISION_COMMITTED' },
      { publicationId: unheardOf, decision: 'DECISION_ABORTED' },
    ]);
  });

  test('are deleted thirty days after all participants have applied them, and not before', async () => {
    const { id } = await aPackageWith(fixture, editor, ['r1']);
    const { publicationId } = await publishPackage(id, editor);
    await reaches(id, 'DONE');
    const exists = async () =>
      (await fixture.database.publication.findUnique({ where: { id: publicationId } })) !== null;
    const deleteAfter = (days: number) =>
      deleteOldOnce({
        database: fixture.database,
        now: () => new Date(Date.now() + days * 86_400_000),
      });
    await deleteAfter(29);
    const before = await exists();
    await deleteAfter(31);
    expect([before, await exists()]).toEqual([true, false]);
  });
});
