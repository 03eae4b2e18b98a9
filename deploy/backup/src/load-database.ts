import { pipeline } from 'node:stream/promises';
import type { ServiceName } from '@kr/local-stack';
import { migrate } from '@kr/schema-migration';
import type { Client } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { type DumpedDatabase, tablePath } from './dump-database.ts';
import { openSession } from './open-session.ts';
import { readPart } from './part.ts';
import { SCHEMAS } from './schemas.ts';

/**
 * Creates the tables with the migrations of the dumped database, and fills them in one transaction. The
 * services apply later migrations at their start.
 *
 * @param databaseUrl of an empty database
 */
export async function loadDatabase(
  service: ServiceName,
  databaseUrl: string,
  { folder, dumped }: { folder: string; dumped: DumpedDatabase },
): Promise<void> {
  const atMost = new Map(Object.entries(dumped.schema).map(([set, applied]) => [set, applied.length]));
  await migrate({ databaseUrl, sets: SCHEMAS[service], atMost });
  await withClient(databaseUrl, async (client) => {
    await client.query('begin');
    const names = dumped.tables.map(({ name }) => client.escapeIdentifier(name));
    // Append-only triggers would reject deleting rows that migrations inserted.
    for (const name of names) await client.query(`alter table public.${name} disable trigger user`);
    if (names.length > 0) await client.query(`truncate ${names.map((name) => `public.${name}`).join(', ')}`);
    for (const { name, columns } of await parentsFirst(client, dumped.tables)) {
      const into = columns.map((column) => client.escapeIdentifier(column)).join(', ');
      const copy = client.query(
        copyFrom(`copy public.${client.escapeIdentifier(name)} (${into}) from stdin`),
      );
      await pipeline(readPart(folder, tablePath(service, name)), copy);
    }
    for (const { name, last, is_called: isCalled } of dumped.sequences)
      await client.query('select setval($1::regclass, $2::bigint, $3)', [
        `public.${client.escapeIdentifier(name)}`,
        last,
        isCalled,
      ]);
    for (const name of names) await client.query(`alter table public.${name} enable trigger user`);
    if (service === 'files') await deleteUnfinishedUploads(client);
    await client.query('commit');
    await client.query('analyze');
  });
}

/** Received bytes are not in the backup: uploads start again, and their reservations are released. */
async function deleteUnfinishedUploads(client: Client): Promise<void> {
  await client.query('delete from upload where finished_at is null');
  await client.query('delete from reservation');
}

/** Orders tables by foreign keys. @throws Error for circular references */
async function parentsFirst<Table extends { name: string }>(
  client: Client,
  tables: readonly Table[],
): Promise<Table[]> {
  const { rows } = await client.query<{ child: string; parent: string }>(`
    select child.relname as child, parent.relname as parent
    from pg_constraint join pg_class child on child.oid = conrelid join pg_class parent on parent.oid = confrelid
    where contype = 'f' and conrelid <> confrelid`);
  const ordered: Table[] = [];
  while (ordered.length < tables.length) {
    const left = tables.filter((table) => !ordered.includes(table));
    const waiting = new Set(
      rows.filter(({ parent }) => left.some(({ name }) => name === parent)).map(({ child }) => child),
    );
    const ready = left.filter(({ name }) => !waiting.has(name));
    if (ready.length === 0) throw new Error(`Tables refer to each other: ${left.map(({ name }) => name)}`);
    ordered.push(...ready);
  }
  return ordered;
}

/** Obstacles to loading: connections and existing data. */
export async function problemsOfTarget(
  service: ServiceName,
  databaseUrl: string,
): Promise<{ inUse: string | undefined; holds: string | undefined }> {
  return withClient(databaseUrl, async (client) => {
    const others = await client.query(
      `select from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`,
    );
    const tables = await client.query(`
      select from pg_class c join pg_namespace n on n.oid = relnamespace
      where relkind = 'r' and nspname not like 'pg\\_%' and nspname <> 'information_schema'`);
    return {
      inUse:
        others.rowCount === 0 ? undefined : `the database of ${service} (${others.rowCount} connections)`,
      holds: tables.rowCount === 0 ? undefined : `the database of ${service} (${tables.rowCount} tables)`,
    };
  });
}

/** Takes everything out of a database that its owner has made in it. */
export async function emptyDatabase(databaseUrl: string): Promise<void> {
  await withClient(databaseUrl, async (client) => {
    const { rows } = await client.query<{ nspname: string }>(
      "select nspname from pg_namespace where nspname not like 'pg\\_%' and nspname <> 'information_schema'",
    );
    await client.query('begin');
    for (const { nspname } of rows)
      await client.query(`drop schema ${client.escapeIdentifier(nspname)} cascade`);
    await client.query('create schema public');
    await client.query('commit');
  });
}

async function withClient<Outcome>(
  databaseUrl: string,
  work: (client: Client) => Promise<Outcome>,
): Promise<Outcome> {
  const client = await openSession(databaseUrl, 'restore');
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
