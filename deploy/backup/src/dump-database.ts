import type { ServiceName } from '@kr/local-stack';
import { readSchemaState } from '@kr/schema-migration';
import type { Client } from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { openSession } from './open-session.ts';
import { type Part, writePart } from './part.ts';
import { SCHEMAS } from './schemas.ts';

/** The entry of one database in a manifest; its migrations create its tables. */
export interface DumpedDatabase {
  /** By set, the names of the migrations. */
  schema: Record<string, string[]>;
  tables: { name: string; columns: string[] }[];
  sequences: { name: string; last: string; is_called: boolean }[];
}

/** One database as of one instant. */
export interface Snapshot {
  client: Client;
  /** Fixes the instant: the snapshot shows the current state from now on. */
  take(): Promise<void>;
  /** Writes every table; what migrations know by themselves is left out. */
  dump(folder: string): Promise<{ database: DumpedDatabase; parts: Part[] }>;
  close(): Promise<void>;
}

/** Of an exchange of tables, or a migration. */
const MAX_WAIT_MS = 30_000;

/**
 * The preparation of a snapshot. From then on the tables are neither switched nor altered, since a snapshot
 * would see new tables empty; their rows may change.
 *
 * @throws Error when a later release has migrated the database, or a table stays locked for half a minute
 */
export async function openSnapshot(service: ServiceName, databaseUrl: string): Promise<Snapshot> {
  const client = await openSession(databaseUrl, 'backup');
  let schema: Record<string, string[]>;
  try {
    const names = (await tablesOf(client)).map(({ name }) => `public.${client.escapeIdentifier(name)}`);
    await client.query(
      `begin isolation level repeatable read read only; set local lock_timeout = ${MAX_WAIT_MS}`,
    );
    // The only statements that begin no snapshot.
    if (names.length > 0) await client.query(`lock table ${names.join(', ')} in access share mode`);
    schema = await schemaOf(service, databaseUrl);
  } catch (error) {
    await client.end();
    throw error;
  }
  return {
    client,
    take: async () => {
      await client.query('select pg_current_snapshot()');
    },
    dump: async (folder) => {
      const tables = await tablesOf(client);
      const parts: Part[] = [];
      for (const { name, columns } of tables)
        parts.push(await writePart(folder, tablePath(service, name), copyOut(client, name, columns)));
      // NOTE: sequences know no snapshots. Read last they have passed every row above.
      return { database: { schema, tables, sequences: await sequencesOf(client) }, parts };
    },
    close: () => client.end(),
  };
}

export function tablePath(service: ServiceName, table: string): string {
  return `databases/${service}/${table}.copy.gz`;
}

async function schemaOf(service: ServiceName, databaseUrl: string): Promise<Record<string, string[]>> {
  const states = await readSchemaState(databaseUrl, SCHEMAS[service]);
  const newer = states.flatMap((state) => state.newer);
  if (newer.length > 0)
    throw new Error(
      `The database of ${service} is that of a later release (${newer.join(', ')}); back it up with that one.`,
    );
  return Object.fromEntries(states.map(({ set, applied }) => [set, applied]));
}

function copyOut(client: Client, table: string, columns: readonly string[]): AsyncIterable<Buffer> {
  const names = columns.map((column) => client.escapeIdentifier(column)).join(', ');
  return client.query(copyTo(`copy public.${client.escapeIdentifier(table)} (${names}) to stdout`));
}

async function tablesOf(client: Client): Promise<{ name: string; columns: string[] }[]> {
  const { rows } = await client.query<{ name: string; columns: string[] }>(`
    select c.relname as name, array_agg(a.attname::text order by a.attnum) as columns
    from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and c.relname not like 'migrations\\_%'
      and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
    group by c.relname order by c.relname`);
  return rows;
}

async function sequencesOf(client: Client): Promise<DumpedDatabase['sequences']> {
  const { rows } = await client.query<{ name: string }>(`
    select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind = 'S' and relname not like 'migrations\\_%'
    order by relname`);
  const sequences: DumpedDatabase['sequences'] = [];
  for (const { name } of rows) {
    const found = await client.query<{ last: string; is_called: boolean }>(
      `select last_value::text as last, is_called from public.${client.escapeIdentifier(name)}`,
    );
    sequences.push(...found.rows.map((row) => ({ name, ...row })));
  }
  return sequences;
}
