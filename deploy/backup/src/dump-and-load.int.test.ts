import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { migrate, readSchemaState } from '@kr/schema-migration';
import { type FreshDatabase, freshDatabase } from '@kr/testbed';
import { Client } from 'pg';
import { openSnapshot } from './dump-database.ts';
import { emptyDatabase, loadDatabase, problemsOfTarget } from './load-database.ts';
import { SCHEMAS } from './schemas.ts';

let folder: string;
let source: FreshDatabase;
let target: FreshDatabase;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kr-dump-'));
  [source, target] = await Promise.all([freshDatabase(), freshDatabase()]);
});
afterEach(async () => {
  await Promise.all([source.drop(), target.drop(), rm(folder, { recursive: true })]);
});

async function queryOn<Row = Record<string, unknown>>(database: FreshDatabase, sql: string): Promise<Row[]> {
  const client = new Client({ connectionString: database.url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

const CONTENT = `
  select table_name, query_to_xml(format('select * from %I order by 1, 2', table_name), false, false, '')::text as rows
  from information_schema.tables
  where table_schema = 'public' and table_name not like 'migrations%' order by table_name`;

const ROWS = `
  insert into parent (id, owner_id, created_at) values ('p', '1', now());
  insert into version (id, parent_id, version_index) values ('v', 'p', 1);
  insert into draft (id, document, revision, created_at, updated_at)
    values ('v', '{"a": "tab\\t, \\\\ and ä"}', 1, now(), now());
  insert into audit_entry (action, entity_id, parent_id, link_ids, request_id, metadata)
    values ('draft.create', 'v', 'p', '{"a,b", null}', 'r', '{}');
  insert into outbox (event_id, aggregate_id, revision, subject, payload, headers)
    values (gen_random_uuid(), 'v', 1, 's', '\\x00ff0a5c', '{}')`;

async function moveToTarget() {
  const snapshot = await openSnapshot('records', source.url);
  try {
    await snapshot.take();
    const { database } = await snapshot.dump(folder);
    await loadDatabase('records', target.url, { folder, dumped: database });
  } finally {
    await snapshot.close();
  }
}

test('a database is restored row by row, continues its sequences, and rejects the same writes', async () => {
  await migrate({ databaseUrl: source.url, sets: SCHEMAS.records });
  await queryOn(source, ROWS);
  await moveToTarget();
  expect(await queryOn(target, CONTENT)).toEqual(await queryOn(source, CONTENT));
  const next = "select nextval('outbox_id_seq') as outbox, nextval('audit_entry_position_seq') as entry";
  expect(await queryOn(target, next)).toEqual([{ outbox: '2', entry: '2' }]);
  await expect(queryOn(target, 'delete from audit_entry')).rejects.toThrow('append-only');
  expect(await readSchemaState(target.url, SCHEMAS.records)).toEqual(
    await readSchemaState(source.url, SCHEMAS.records),
  );
});

test('data of an earlier release is restored unchanged, for the services to migrate', async () => {
  const files = (await readSchemaState(source.url, SCHEMAS.search)).map(
    ({ set, pending }) => [set, pending.length] as const,
  );
  const earlier = new Map(files.map(([set, count]) => [set, set === 'event_bus' ? count : count - 1]));
  await migrate({ databaseUrl: source.url, sets: SCHEMAS.search, atMost: earlier });
  const snapshot = await openSnapshot('search', source.url);
  await snapshot.take();
  const { database } = await snapshot.dump(folder);
  await snapshot.close();
  await loadDatabase('search', target.url, { folder, dumped: database });
  const pending = async () =>
    (await readSchemaState(target.url, SCHEMAS.search)).flatMap((state) => state.pending);
  expect(await pending()).toHaveLength(files.length - 1);
  await migrate({ databaseUrl: target.url, sets: SCHEMAS.search });
  expect(await pending()).toEqual([]);
});

test('a snapshot shows no later changes', async () => {
  await migrate({ databaseUrl: source.url, sets: SCHEMAS.records });
  const snapshot = await openSnapshot('records', source.url);
  await snapshot.take();
  await queryOn(source, ROWS);
  const { database } = await snapshot.dump(folder);
  await snapshot.close();
  await loadDatabase('records', target.url, { folder, dumped: database });
  expect(await queryOn(target, 'select * from draft')).toEqual([]);
});

test('no table is exchanged from before the moment of a snapshot until it is written', async () => {
  await migrate({ databaseUrl: source.url, sets: SCHEMAS.records });
  await queryOn(source, ROWS);
  const exchange = "set lock_timeout = '100ms'; truncate draft";
  const snapshot = await openSnapshot('records', source.url);
  await expect(queryOn(source, exchange)).rejects.toThrow('lock timeout');
  await queryOn(source, "update draft set revision = 2 where id = 'v'");
  await snapshot.take();
  await expect(queryOn(source, exchange)).rejects.toThrow('lock timeout');
  await snapshot.close();
  await queryOn(source, exchange);
});

test('a session that the server ends fails the next statement, and nothing else', async () => {
  await migrate({ databaseUrl: source.url, sets: SCHEMAS.gateway });
  const name = new URL(source.url).pathname.slice(1);
  await queryOn(source, `alter database "${name}" set idle_in_transaction_session_timeout = 50`);
  const snapshot = await openSnapshot('gateway', source.url);
  const limits = await snapshot.client.query('show idle_in_transaction_session_timeout');
  expect(limits.rows).toEqual([{ idle_in_transaction_session_timeout: '0' }]);
  const ended = new Promise((resolve) => snapshot.client.once('end', resolve));
  await queryOn(
    source,
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'backup' and datname = current_database()",
  );
  await ended;
  await expect(snapshot.take()).rejects.toThrow();
  await snapshot.close();
});

test('a database of a later release is rejected', async () => {
  await migrate({ databaseUrl: source.url, sets: SCHEMAS.gateway });
  await queryOn(source, "insert into migrations_gateway (name, run_on) values ('9_later', now())");
  await expect(openSnapshot('gateway', source.url)).rejects.toThrow(
    'The database of gateway is that of a later release (9_later); back it up with that one.',
  );
});

test('a target reports its connections and contents, until it is emptied', async () => {
  await migrate({ databaseUrl: target.url, sets: SCHEMAS.search });
  await queryOn(target, 'create schema build; create table build.left (id int)');
  const other = new Client({ connectionString: target.url });
  await other.connect();
  const busy = await problemsOfTarget('search', target.url);
  await other.end();
  await emptyDatabase(target.url);
  expect([busy, await problemsOfTarget('search', target.url)]).toEqual([
    {
      inUse: 'the database of search (1 connections)',
      holds: expect.stringMatching(/^the database of search \(\d+ tables\)$/),
    },
    { inUse: undefined, holds: undefined },
  ]);
});
