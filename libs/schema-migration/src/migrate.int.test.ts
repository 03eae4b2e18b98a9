import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type FreshDatabase, freshDatabase } from '@kr/testbed';
import { Client } from 'pg';
import { migrate } from './migrate.ts';
import { readSchemaState } from './schema-state.ts';

let database: FreshDatabase;
let folder: string;

beforeEach(async () => {
  database = await freshDatabase();
  folder = await mkdtemp(join(tmpdir(), 'migrations-'));
});
afterEach(async () => {
  await database.drop();
  await rm(folder, { recursive: true });
});

async function file(name: string, sql: string): Promise<void> {
  await writeFile(join(folder, name), sql);
}

async function rows(sql: string): Promise<unknown[]> {
  const client = new Client({ connectionString: database.url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

function run(name = 'own'): Promise<void> {
  return migrate({ databaseUrl: database.url, sets: [{ name, directory: folder }] });
}

describe('schema migration', () => {
  test('applies files in order, once, and later ones when they are added', async () => {
    await file(
      '20260102000000_fill.sql',
      "insert into item values ('{\"a\": 1}');\ninsert into item values ('{}');",
    );
    await file(
      '20260101000000_create.sql',
      'create table item (document jsonb not null); -- down the road\n',
    );
    await file('README.md', 'no migration');
    await run();
    await run();
    await file('20260103000000_more.sql', 'insert into item values (\'{"b": 2}\');');
    await run();
    expect(await rows('select document from item')).toEqual([
      { document: { a: 1 } },
      { document: {} },
      { document: { b: 2 } },
    ]);
    expect(await rows('select name from migrations_own order by id')).toEqual([
      { name: '20260101000000_create' },
      { name: '20260102000000_fill' },
      { name: '20260103000000_more' },
    ]);
  });

  test('applies nothing of a set in which a statement fails, and reports it', async () => {
    await file('20260101000000_create.sql', 'create table item (id int);');
    await file('20260102000000_broken.sql', 'insert into item values (1); insert into nothing values (1);');
    await expect(run()).rejects.toThrow('relation "nothing" does not exist');
    expect(await rows("select to_regclass('item') as item")).toEqual([{ item: null }]);
    await file('20260102000000_broken.sql', 'insert into item values (1);');
    await run();
    expect(await rows('select id from item')).toEqual([{ id: 1 }]);
  });

  test('records several sets separately', async () => {
    const other = await mkdtemp(join(tmpdir(), 'migrations-'));
    await file('20260102000000_first.sql', 'create table later (id int references sooner);');
    await writeFile(join(other, '20260101000000_first.sql'), 'create table sooner (id int primary key);');
    await migrate({
      databaseUrl: new URL(database.url),
      sets: [
        { name: 'lib', directory: other },
        { name: 'own', directory: folder },
      ],
    });
    expect(await rows('select name from migrations_lib union all select name from migrations_own')).toEqual([
      { name: '20260101000000_first' },
      { name: '20260102000000_first' },
    ]);
    await rm(other, { recursive: true });
  });

  test('is applied once by replicas that start together', async () => {
    await file('20260101000000_create.sql', 'create table item (id int); select pg_sleep(0.2);');
    await file('20260102000000_fill.sql', 'insert into item values (1);');
    await Promise.all(Array.from({ length: 6 }, () => run()));
    expect(await rows('select id from item')).toEqual([{ id: 1 }]);
  });

  test('leaves a database alone that a later release has brought further', async () => {
    await file('20260101000000_create.sql', 'create table item (id int);');
    await file('20260102000000_later.sql', 'alter table item add column name text;');
    await run();
    await rm(join(folder, '20260102000000_later.sql'));
    await run();
    expect(await rows('select id, name from item')).toEqual([]);
    expect(await rows('select name from migrations_own')).toHaveLength(2);
  });

  test('refuses a database that the release in between has never had', async () => {
    await file('20260101000000_create.sql', 'create table item (id int, name text);');
    await run();
    await file('20260102000000_add-title.sql', 'alter table item add column title text;');
    await file(
      '20260103000000_drop-name.sql',
      '-- contract of 20260102000000_add-title: readers use the title.\nalter table item drop column name;',
    );
    await expect(run()).rejects.toThrow(
      'This database is too old for this release: 20260103000000_drop-name of own follows 20260102000000_add-title, which it never had. Upgrade to the release in between first.',
    );
    expect(await rows('select id, name from item')).toEqual([]);
  });

  test('applies a contract step after the release that expanded, and on a new database', async () => {
    const contract = '-- contract of 20260101000000_create\nalter table item drop column name;';
    await file('20260101000000_create.sql', 'create table item (id int, name text);');
    await run();
    await file('20260102000000_drop-name.sql', contract);
    await run();
    const other = await freshDatabase();
    await migrate({ databaseUrl: other.url, sets: [{ name: 'own', directory: folder }] });
    expect(await readSchemaState(other.url, [{ name: 'own', directory: folder }])).toEqual(
      await readSchemaState(database.url, [{ name: 'own', directory: folder }]),
    );
    await other.drop();
  });

  test('goes as far as requested, and returns how far that is', async () => {
    await file('20260101000000_create.sql', 'create table item (id int);');
    await file('20260102000000_later.sql', 'alter table item add column name text;');
    const own = { name: 'own', directory: folder };
    const state = () => readSchemaState(database.url, [own]);
    const before = await state();
    await migrate({ databaseUrl: database.url, sets: [own], atMost: new Map([['own', 1]]) });
    const between = await state();
    await run();
    await rm(join(folder, '20260102000000_later.sql'));
    const [first, later] = ['20260101000000_create', '20260102000000_later'];
    expect([before, between, await state()]).toEqual([
      [{ set: 'own', applied: [], pending: [first, later], newer: [] }],
      [{ set: 'own', applied: [first], pending: [later], newer: [] }],
      [{ set: 'own', applied: [first, later], pending: [], newer: [later] }],
    ]);
  });

  test('rejects a file that sorts before an applied one', async () => {
    await file('20260102000000_second.sql', 'select 1;');
    await run();
    await file('20260101000000_first.sql', 'select 1;');
    await expect(run()).rejects.toThrow('20260101000000_first');
  });

  test('fails clearly when the database is not there', async () => {
    await expect(
      migrate({
        databaseUrl: 'postgres://nobody@127.0.0.1:1/none',
        sets: [{ name: 'own', directory: folder }],
      }),
    ).rejects.toThrow('ECONNREFUSED');
  });
});
