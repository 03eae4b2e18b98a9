import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type FreshDatabase, freshDatabase, until } from '@kr/testbed';
import { Client } from 'pg';
import { withPublicationsPaused } from './publication-barrier.ts';

let database: FreshDatabase;
let coordinator: Client;
let observer: Client;
beforeEach(async () => {
  database = await freshDatabase();
  [coordinator, observer] = [0, 1].map(() => new Client({ connectionString: database.url })) as [
    Client,
    Client,
  ];
  await Promise.all([coordinator.connect(), observer.connect()]);
  await coordinator.query('create table publication (id int, state text)');
});
afterEach(async () => {
  await Promise.all([coordinator.end(), observer.end()]);
  await database.drop();
});

const isWaiting = async (text: string): Promise<boolean> => {
  const { rowCount } = await observer.query(
    "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like $1",
    [`${text}%`],
  );
  return rowCount === 1;
};

test('waits until a running publication is decided', async () => {
  await coordinator.query("begin; insert into publication values (1, 'COMMITTED')");
  const seen = withPublicationsPaused(database.url, async () => {
    const { rows } = await observer.query('select * from publication');
    return rows;
  });
  await until(() => isWaiting('lock table'));
  await coordinator.query('commit');
  expect(await seen).toEqual([{ id: 1, state: 'COMMITTED' }]);
});

test('lets no publication move while it works, and all of them read', async () => {
  let moved: Promise<unknown> | undefined;
  const order: string[] = [];
  await withPublicationsPaused(database.url, async () => {
    moved = coordinator
      .query("insert into publication values (1, 'PREPARING')")
      .then(() => order.push('moved'));
    await until(() => isWaiting('insert into'));
    expect((await observer.query('select * from publication')).rows).toEqual([]);
    order.push('worked');
  });
  await moved;
  expect(order).toEqual(['worked', 'moved']);
});

test('has nothing to wait for where there are no publications yet', async () => {
  await coordinator.query('drop table publication');
  expect(await withPublicationsPaused(database.url, async () => 'done')).toBe('done');
});

test('fails where the server has let publications go on meanwhile', async () => {
  const seen = withPublicationsPaused(database.url, async () => {
    await observer.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'backup'",
    );
    await coordinator.query("insert into publication values (1, 'PREPARING')");
  });
  await expect(seen).rejects.toThrow();
});
