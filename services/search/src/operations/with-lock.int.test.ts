import { expect, test } from '@jest/globals';
import { FaultProxy, freshDatabase, until } from '@kr/testbed';
import { withLock } from './with-lock.ts';

/** As long as a busy machine may keep an answer back. */
const IMPATIENT = { checkEveryMs: 50, checkTimeoutMs: 4_000 };

test('a lock has one owner, and is free when the work has ended', async () => {
  const database = await freshDatabase();
  const take = (work: () => Promise<unknown>) => withLock(database.url, 'reindex', work);
  try {
    const inner = await take(async () => ({ second: await take(async () => 'taken') }));
    expect([inner, await take(async () => 'taken')]).toEqual([{ second: undefined }, 'taken']);
  } finally {
    await database.drop();
  }
});

test('a process without a connection to the database has lost the lock, and reports it', async () => {
  const database = await freshDatabase();
  const proxy = await FaultProxy.start(new URL(database.url).host);
  let heal = () => {};
  try {
    const asked = await withLock(
      proxy.urlThrough(database.url),
      'reindex',
      async ({ lost, check }) => {
        await check();
        expect(lost.aborted).toBe(false);
        heal = proxy.inflict({ kind: 'black hole' });
        await until(() => lost.aborted);
        return check().then(
          () => 'held',
          () => 'lost',
        );
      },
      IMPATIENT,
    );
    expect(asked).toBe('lost');
  } finally {
    heal();
    await proxy.stop();
    await database.drop();
  }
});
