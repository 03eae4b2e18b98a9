import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import { GOOD_BODY, type LifecycleFixture, lifecycleFixture } from './lifecycle-fixture.ts';

let life: LifecycleFixture;
beforeAll(async () => {
  life = await lifecycleFixture();
});
afterAll(() => life.close());

const titled = (title: string) => ({ ...GOOD_BODY, metadata: { ...GOOD_BODY.metadata, title } });

/** Whether one statement waits for a lock. */
async function isOneWaiting(): Promise<boolean> {
  const [row] = await life.prisma.$queryRawUnsafe<{ n: number }[]>(
    "select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
  );
  return row?.n === 1;
}

/**
 * Saves a draft whose entity is locked, and unlocks it only once the save waits; `meanwhile` runs in the
 * locking transaction.
 */
async function saveAfter(
  id: string,
  meanwhile: (tx: {
    $executeRawUnsafe(sql: string, ...values: unknown[]): Promise<number>;
  }) => Promise<unknown>,
): Promise<unknown> {
  const { saving } = await life.prisma.$transaction(async (tx) => {
    await tx.$queryRawUnsafe('select id from version where id = $1 for update', id);
    const saving = life.update(id, titled('Second')).catch((thrown: unknown) => thrown);
    await until(isOneWaiting);
    await meanwhile(tx);
    return { saving };
  });
  return saving;
}

const eventsOf = async (id: string) =>
  (await life.events()).filter((event) => event.aggregate_id === id).map(({ revision }) => revision);

test('making a draft takes one statement, its event included', async () => {
  // The first draft of a minute also counts what the user has.
  await life.create();
  const statements = await life.statementsOf(() => life.create());
  expect(statements).toHaveLength(1);
  const { id } = await life.create();
  expect(await eventsOf(id)).toEqual([1]);
});

describe('saving a changed draft', () => {
  test('takes two statements', async () => {
    const { id } = await life.create();
    const statements = await life.statementsOf(() => life.update(id, titled('Second')));
    expect(statements).toHaveLength(2);
    expect(await eventsOf(id)).toEqual([1, 2]);
  });

  test('counts its files unless they are disabled', async () => {
    const { id } = await life.create();
    const asked: string[][] = [];
    const { describeBuckets } = life.context;
    life.context.describeBuckets = (ids) => {
      asked.push([...ids]);
      return describeBuckets(ids);
    };
    try {
      await life.update(id, titled('Without files'));
      await life.read(id, 'draft');
      expect(asked).toEqual([]);
      const enabled = await life.update(id, { ...GOOD_BODY, files: { enabled: true } });
      expect([asked, enabled.json['errors']]).toEqual([
        [],
        [expect.objectContaining({ field: 'files.enabled' })],
      ]);
      life.counts.set(id, { entries: 1, pending: 0, totalBytes: 3, keys: ['a.txt'] });
      const stays = await life.update(id, GOOD_BODY);
      await life.read(id, 'draft');
      expect([asked, stays.json['files'], stays.json['errors']]).toEqual([
        [[id], [id]],
        { enabled: true, order: [] },
        [expect.objectContaining({ field: 'files.enabled' })],
      ]);
    } finally {
      life.context.describeBuckets = describeBuckets;
    }
  });

  test('that meets another change is applied after it', async () => {
    const { id } = await life.create();
    const saved = await saveAfter(id, (tx) =>
      tx.$executeRawUnsafe('update draft set revision = revision + 1 where id = $1', id),
    );
    expect(saved).toMatchObject({ revision: 3, json: { metadata: { title: 'Second' } } });
    expect(await life.read(id, 'draft')).toMatchObject({ revision: 3 });
    // The other change published no event, because it was made by hand.
    expect(await eventsOf(id)).toEqual([1, 3]);
  });

  test('succeeds at the second attempt, however often others save', async () => {
    const { id } = await life.create();
    const { store } = life.context;
    const others: Promise<unknown>[] = [];
    let attempts = 0;
    /** Before each attempt another save is applied, or waits for this one. */
    const contended: typeof store.replaceUnchanged = async (sql, saved, log) => {
      if (saved.draft.document.metadata['title'] === 'Second' && attempts < 5) {
        attempts += 1;
        let isSaved = false;
        const other = life.update(id, titled(`Other ${attempts}`)).then(() => {
          isSaved = true;
        });
        others.push(other);
        await until(async () => isSaved || (await isOneWaiting()));
      }
      return store.replaceUnchanged(sql, saved, log);
    };
    life.context.store = { ...store, replaceUnchanged: contended };
    try {
      const saved = await life.update(id, titled('Second'));
      await Promise.all(others);
      expect([attempts, saved.revision]).toEqual([2, 3]);
      expect(await life.read(id, 'draft')).toMatchObject({
        revision: 4,
        json: { metadata: { title: 'Other 2' } },
      });
      expect(await eventsOf(id)).toEqual([1, 2, 3, 4]);
    } finally {
      life.context.store = store;
    }
  });

  test('that meets a publication is refused and leaves nothing behind', async () => {
    const { id } = await life.create();
    life.decisions.set('a publication', 'undecided');
    const saved = await saveAfter(id, (tx) =>
      tx.$executeRawUnsafe("update draft set locked_by = 'a publication' where id = $1", id),
    );
    expect(saved).toMatchObject({ kind: 'conflict', code: 'draft_locked' });
    expect(await eventsOf(id)).toEqual([1]);
  });

  test('that meets its deletion finds nothing', async () => {
    const { id } = await life.create();
    const saved = await saveAfter(id, async (tx) => {
      await tx.$executeRawUnsafe('delete from draft where id = $1', id);
      await tx.$executeRawUnsafe('delete from version where id = $1', id);
    });
    expect(saved).toMatchObject({ kind: 'not_found' });
    expect(await eventsOf(id)).toEqual([1]);
  });
});
