import { globSync, readFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { type MigrationSet, migrate } from '@kr/schema-migration';
import { freshDatabase } from '@kr/testbed';
import pg from 'pg';

const ROOT = resolve(import.meta.dirname, '../..');
const SERVICES = globSync('services/*/prisma', { cwd: ROOT }).map((folder) =>
  basename(resolve(folder, '..')),
);

/** The type of a column in Postgres, for each type of a field. */
const TYPES: Readonly<Record<string, string>> = {
  String: 'text',
  Boolean: 'bool',
  Int: 'int4',
  BigInt: 'int8',
  Bytes: 'bytea',
  Json: 'jsonb',
  DateTime: 'timestamptz',
};
const NATIVE_TYPES: Readonly<Record<string, string>> = { Uuid: 'uuid', SmallInt: 'int2' };

const FIELD = /^ {2}(?<name>\w+) +(?<type>\w+)(?<modifier>\[\]|\?)? *(?<attributes>.*)$/gm;

/** Columns of all models as `table.column type`, by table. */
function columnsOfModels(service: string): Map<string, string[]> {
  const texts = globSync(`services/${service}/prisma/*.prisma`, { cwd: ROOT }).map((file) =>
    readFileSync(resolve(ROOT, file), 'utf8'),
  );
  const models = texts.flatMap((text) => [...text.matchAll(/^model \w+ \{\n(?<body>.*?)^\}/gms)]);
  return new Map(
    models.map(({ groups: { body = '' } = {} }) => {
      const table = /@@map\("(\w+)"\)/.exec(body)?.[1] ?? '';
      const columns = [...body.matchAll(FIELD)].flatMap(({ groups = {} }) => {
        const { name = '', type = '', modifier, attributes = '' } = groups;
        const plain = TYPES[type];
        // A relation is a field without a column.
        if (plain === undefined) return [];
        const native = NATIVE_TYPES[/@db\.(\w+)/.exec(attributes)?.[1] ?? ''] ?? plain;
        const column = /@map\("(\w+)"\)/.exec(attributes)?.[1] ?? name;
        return `${table}.${column} ${modifier === '[]' ? `_${native}` : native}${modifier === '?' ? ' null' : ''}`;
      });
      return [table, columns];
    }),
  );
}

async function columnsOfTables(service: string, tables: readonly string[]): Promise<string[]> {
  const { SCHEMA }: { SCHEMA: readonly MigrationSet[] } = await import(
    resolve(ROOT, `services/${service}/src/schema.ts`)
  );
  const database = await freshDatabase();
  const client = new pg.Client({ connectionString: database.url });
  try {
    await migrate({ databaseUrl: database.url, sets: SCHEMA });
    await client.connect();
    const { rows } = await client.query<{ column: string }>(
      `select format('%s.%s %s', table_name, column_name, udt_name) || case is_nullable when 'YES' then ' null' else '' end
         as column
       from information_schema.columns where table_schema = 'public' and table_name = any ($1)`,
      [tables],
    );
    return rows.map(({ column }) => column);
  } finally {
    await client.end();
    await database.drop();
  }
}

describe('the Prisma models and the migrated tables have the same columns', () => {
  test.each(SERVICES)('%s', async (service) => {
    const models = columnsOfModels(service);
    expect(models.size).toBeGreaterThan(0);
    const columns = await columnsOfTables(service, [...models.keys()]);
    expect([...models.values()].flat().sort()).toEqual(columns.sort());
  });
});
