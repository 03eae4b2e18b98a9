import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Principal, verifyTicket } from '@kr/caller';
import {
  ANONYMOUS,
  COORDINATOR,
  callOf,
  GOOD_BODY,
  type LifecycleFixture,
  lifecycleFixture,
  OWNER,
  type Shown,
  STRANGER,
} from './lifecycle-fixture.ts';
import { applyDecisionToRecords } from './publication/decisions.ts';

let life: LifecycleFixture;
beforeAll(async () => {
  life = await lifecycleFixture();
});
afterAll(() => life.close());

const LINK = { linkId: 'link-1', permission: 'edit' } as const;
const holderOf = ({ parentId }: Pick<Shown, 'parentId'>): Principal => ({
  ...ANONYMOUS,
  grants: [
    { ...LINK, parentId },
    { linkId: 'link-2', parentId: 'of another entity', permission: 'edit' as const },
  ],
});

const actionsOf = async ({ parentId }: Pick<Shown, 'parentId'>) =>
  (await life.trail(parentId)).map(({ action }) => action);

const readLog = (id: string, principal: Principal, limit = 100) =>
  life.handlers.ReadAuditLog({ id, limit }, callOf(principal));

/** The error that somebody is given instead of an answer. */
async function refusal(work: Promise<unknown>): Promise<unknown> {
  const outcome = await work.then(
    () => 'ok',
    (error: { kind: string; message: string; code?: string }) => error,
  );
  return typeof outcome === 'string'
    ? outcome
    : { kind: outcome.kind, message: outcome.message, code: outcome.code };
}

describe('the trail of an entity', () => {
  test('has each action once, with its actor, in all versions', async () => {
    const draft = await life.create();
    const { id } = draft;
    await life.update(id, { ...GOOD_BODY, files: { enabled: true } }, 0, holderOf(draft));
    await life.update(id, GOOD_BODY);
    await life.handlers.ReservePid({ id, scheme: 'doi', ifRevision: '0' }, callOf(OWNER));
    await life.handlers.DiscardPid({ id, scheme: 'doi', ifRevision: '0' }, callOf(OWNER));
    await life.publish(id);
    await life.handlers.EditPublished({ id, ifRevision: '0' }, callOf(OWNER));
    await life.handlers.EditPublished({ id, ifRevision: '0' }, callOf(OWNER));
    await life.handlers.DeleteDraft({ id, ifRevision: '0' }, callOf(OWNER));
    const next = await life.handlers.CreateVersion({ id, ifRevision: '0' }, callOf(OWNER));
    await life.handlers.CreateVersion({ id, ifRevision: '0' }, callOf(OWNER));

    const trail = await life.trail(draft.parentId);
    expect(
      trail.map(({ action, user_id, link_ids, service }) => [action, user_id, link_ids, service]),
    ).toEqual([
      ['draft.create', 'owner', [], null],
      ['draft.update', null, ['link-1'], null],
      ['draft.update', 'owner', [], null],
      ['pid.reserve', 'owner', [], null],
      ['pid.discard', 'owner', [], null],
      ['record.publish', null, [], 'packages'],
      ['draft.edit', 'owner', [], null],
      ['draft.delete', 'owner', [], null],
      ['draft.new_version', 'owner', [], null],
    ]);
    expect(trail.map(({ metadata }) => metadata)).toMatchObject([
      {},
      { revision: 2, files_enabled: true },
      { revision: 3, files_enabled: false },
      { scheme: 'doi', identifier: `10.5072/${id}` },
      { scheme: 'doi', identifier: `10.5072/${id}` },
      { publication: expect.stringContaining(id) },
      {},
      { is_published: true },
      { version: 2, from: id },
    ]);
    expect(trail.at(-1)?.entity_id).toBe(next.document?.id);
  });

  test('has a keyed creation once, however often it is repeated', async () => {
    const key = Buffer.alloc(32, 1);
    const first = await life.create(GOOD_BODY, OWNER, key);
    await life.create(GOOD_BODY, OWNER, key);
    expect(await actionsOf(first)).toEqual(['draft.create']);
    const others: { count: number }[] = await life.prisma.$queryRawUnsafe(
      'select count(*)::int as count from audit_entry where parent_id not in (select id from parent)',
    );
    expect(others).toEqual([{ count: 0 }]);
  });

  test('has nothing of rejected or failed actions', async () => {
    const draft = await life.create();
    const { id } = draft;
    await Promise.allSettled([
      life.update(id, GOOD_BODY, 9),
      life.update(id, GOOD_BODY, 0, STRANGER),
      life.update(id, 'no object'),
      life.handlers.DiscardPid({ id, scheme: 'doi', ifRevision: '0' }, callOf(OWNER)),
      life.handlers.DeleteDraft({ id, ifRevision: '0' }, callOf(STRANGER)),
      life.handlers.CreateVersion({ id, ifRevision: '0' }, callOf(OWNER)),
    ]);
    life.decisions.set('never decided', 'undecided');
    const locked = await life.prepare([id], 'never decided');
    expect(locked.isPrepared).toBe(true);
    await Promise.allSettled([life.update(id, GOOD_BODY)]);
    life.decisions.set('never decided', 'aborted');
    await applyDecisionToRecords(life.context)(
      { publicationId: 'never decided', isCommitted: false },
      callOf(COORDINATOR),
    );
    expect(await actionsOf(draft)).toEqual(['draft.create']);
  });

  test('names the actor of the publication, independent of the service that applies it, and once for repeated decisions', async () => {
    const drafts = [await life.create(), await life.create()];
    const actor = {
      userId: 'asker',
      linkIds: ['link-2'],
      service: '',
      tokenId: 'token-3',
      requestId: 'asked',
      traceId: '0'.repeat(31).concat('1'),
    };
    const ids = drafts.map(({ id }) => id);
    await life.prepare(ids, 'requested', { packageId: 'a-package', actor });
    expect(await actionsOf(drafts[0] as Shown)).toEqual(['draft.create']);
    const decision = { publicationId: 'requested', isCommitted: true };
    const statements = await life.statementsOf(() =>
      applyDecisionToRecords(life.context)(decision, callOf(COORDINATOR)),
    );
    await applyDecisionToRecords(life.context)(decision, callOf(COORDINATOR));
    for (const { parentId } of drafts) {
      expect((await life.trail(parentId)).slice(1)).toEqual([
        {
          action: 'record.publish',
          entity_id: expect.any(String),
          user_id: 'asker',
          link_ids: ['link-2'],
          service: null,
          metadata: { publication: 'requested', package: 'a-package', revision: 2 },
        },
      ]);
    }
    expect(statements.filter((text) => text.includes('into audit_entry'))).toHaveLength(1);
  });
});

test('a publication prepared by the previous release, without an actor, is attributed to the packages service', async () => {
  const draft = await life.create();
  await life.prepare([draft.id], 'of old', { actor: null });
  await life.prisma.$executeRawUnsafe("update participant set actor = null where publication_id = 'of old'");
  await applyDecisionToRecords(life.context)(
    { publicationId: 'of old', isCommitted: true },
    callOf(COORDINATOR),
  );
  expect((await life.trail(draft.parentId)).at(-1)).toMatchObject({
    action: 'record.publish',
    user_id: null,
    service: 'packages',
  });
});

describe('who may read it', () => {
  test('its owner and operators, with tickets for other services', async () => {
    const draft = await life.create();
    const { trails, parentId, filesTicket = '' } = await readLog(draft.id, OWNER);
    expect(parentId).toBe(draft.parentId);
    expect(trails).toMatchObject([{ total: 1, entries: [{ action: 'draft.create', entityId: draft.id }] }]);
    const check = { audience: 'files', key: 'f'.repeat(32), now: life.context.now } as const;
    expect(verifyTicket(filesTicket, { ...check, actions: ['read_audit_log'] })).toMatchObject({ parentId });
    expect(
      await refusal(
        Promise.resolve().then(() => verifyTicket(filesTicket, { ...check, actions: ['write_files'] })),
      ),
    ).toMatchObject({ kind: 'forbidden' });
    expect((await readLog(draft.id, { ...STRANGER, isAdmin: true })).trails).toEqual(trails);
  });

  test('other readers of the entity are not allowed', async () => {
    const draft = await life.create();
    const open = await life.create();
    const closed = await life.create({ ...GOOD_BODY, access: { record: 'restricted', files: 'restricted' } });
    await life.publish(open.id);
    await life.publish(closed.id);
    for (const { id, parentId } of [draft, open, closed]) {
      for (const principal of [STRANGER, holderOf({ parentId })]) {
        expect(await refusal(readLog(id, principal))).toMatchObject({ kind: 'forbidden' });
      }
      expect(await refusal(readLog(id, ANONYMOUS))).toMatchObject({ kind: 'unauthenticated' });
    }
    expect(await refusal(readLog('00000-00000', STRANGER))).toMatchObject({ kind: 'not_found' });
  });

  test('of a permanently deleted entity, to its former owner only', async () => {
    const draft = await life.create();
    await life.handlers.DeleteDraft({ id: draft.id, ifRevision: '0' }, callOf(OWNER));
    const { trails } = await readLog(draft.id, OWNER);
    expect(trails?.[0]?.entries?.map(({ action }) => action)).toEqual(['draft.delete', 'draft.create']);
    expect((await readLog(draft.id, { ...STRANGER, isAdmin: true })).trails).toEqual(trails);
    for (const principal of [STRANGER, ANONYMOUS, holderOf(draft)]) {
      expect(await refusal(readLog(draft.id, principal))).toEqual({
        kind: 'not_found',
        message: 'The persistent identifier does not exist.',
        code: undefined,
      });
    }
  });

  test('with a limit', async () => {
    const { id } = await life.create();
    for (const limit of [0, -1, 10_001]) {
      expect(await refusal(readLog(id, OWNER, limit))).toMatchObject({ kind: 'invalid' });
    }
    await life.update(id, GOOD_BODY);
    expect((await readLog(id, OWNER, 1)).trails).toMatchObject([
      { total: 2, entries: [{ action: 'draft.update' }] },
    ]);
  });
});
