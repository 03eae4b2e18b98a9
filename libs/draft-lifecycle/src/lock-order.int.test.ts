import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import {
  COORDINATOR,
  callOf,
  type LifecycleFixture,
  lifecycleFixture,
  OWNER,
  STRANGER,
} from './lifecycle-fixture.ts';
import { applyDecisionToRecords } from './publication/decisions.ts';

let life: LifecycleFixture;
beforeAll(async () => {
  life = await lifecycleFixture();
});
afterAll(() => life.close());

async function waitingForLocks(): Promise<number | undefined> {
  const [row] = await life.prisma.$queryRawUnsafe<{ n: number }[]>(
    "select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
  );
  return row?.n;
}

/** Runs work against one locked row, and returns the other rows that the lock's holder can still lock. */
async function freeBeside(
  held: { table: 'parent' | 'version'; id: string },
  others: { table: 'version'; ids: readonly string[] },
  work: () => Promise<unknown>,
): Promise<string[]> {
  const { free, running } = await life.prisma.$transaction(async (tx) => {
    await tx.$queryRawUnsafe(`select id from ${held.table} where id = $1 for update`, held.id);
    const running = work();
    await until(async () => (await waitingForLocks()) === 1);
    const rows = await tx.$queryRawUnsafe<{ id: string }[]>(
      `select id from ${others.table} where id = any($1::text[]) order by id for update skip locked`,
      others.ids,
    );
    return { free: rows.map(({ id }) => id), running };
  });
  await running;
  return free;
}

async function someDrafts(): Promise<string[]> {
  const ids: string[] = [];
  for (let count = 0; count < 8; count += 1) ids.push((await life.create()).id);
  return ids.sort();
}

test.each([true, false])(
  'a decision (committed: %s) waits for the first entity before it holds another',
  async (isCommitted) => {
    const ids = await someDrafts();
    const publicationId = `in order ${isCommitted}`;
    await life.prepare(ids.toReversed(), publicationId);
    const [lowest = '', ...others] = ids;
    const decide = () =>
      applyDecisionToRecords(life.context)({ publicationId, isCommitted }, callOf(COORDINATOR));
    expect(
      await freeBeside({ table: 'version', id: lowest }, { table: 'version', ids: others }, decide),
    ).toEqual(others);
  },
);

test('a deletion waits for the parent before it holds the version', async () => {
  const { id, parentId } = await life.create();
  const remove = () => life.handlers.DeleteDraft({ id, ifRevision: '0' }, callOf(OWNER));
  expect(
    await freeBeside({ table: 'parent', id: parentId }, { table: 'version', ids: [id] }, remove),
  ).toEqual([id]);
});

test('a deletion by a caller without the right waits for no lock', async () => {
  const { id, parentId } = await life.create();
  const outcome = await life.prisma.$transaction(async (tx) => {
    await tx.$queryRawUnsafe('select id from parent where id = $1 for update', parentId);
    await tx.$queryRawUnsafe('select id from version where id = $1 for update', id);
    return Promise.allSettled([life.handlers.DeleteDraft({ id, ifRevision: '0' }, callOf(STRANGER))]);
  });
  expect(outcome).toMatchObject([{ status: 'rejected', reason: { kind: 'forbidden' } }]);
});

test('a new version is refused if the published form changed after its If-Match was checked', async () => {
  const { id, parentId } = await life.create();
  await life.publish(id);
  const published = await life.read(id, 'published');
  const ifRevision = String(typeof published === 'string' ? 0 : published.revision);
  const creating = await life.prisma.$transaction(async (tx) => {
    await tx.$queryRawUnsafe('select id from parent where id = $1 for update', parentId);
    const running = Promise.allSettled([life.handlers.CreateVersion({ id, ifRevision }, callOf(OWNER))]);
    await until(async () => (await waitingForLocks()) === 1);
    await tx.$executeRawUnsafe('update version set revision = revision + 1 where id = $1', id);
    return { running };
  });
  expect(await creating.running).toEqual([
    { status: 'rejected', reason: expect.objectContaining({ kind: 'precondition_failed' }) },
  ]);
});
