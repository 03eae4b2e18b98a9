import type { Client } from 'pg';

/** Values that change without any request. */
const IN_TRANSIT = ['outbox', 'outbox_stream', 'consumer_position'];

/** A digest of every table of some databases, and of how many events were written; `except` names tables to leave out. */
export async function databaseDigest(
  databases: readonly Client[],
  { except = [] }: { except?: readonly string[] } = {},
): Promise<string[]> {
  const digests = await Promise.all(
    databases.map(async (database) => {
      const { rows } = await database.query<{ name: string }>(
        `select table_name as name from information_schema.tables where table_schema = 'public'
         and table_type = 'BASE TABLE' and table_name <> all($1) order by 1`,
        [[...IN_TRANSIT, ...except]],
      );
      const queries = rows.map(
        ({ name }) =>
          `select '${name}' as name, md5(coalesce(string_agg(t::text, '|' order by t::text), '')) as digest
           from "${name}" t`,
      );
      const events = "select 'outbox' as name, count(*)::text as digest from outbox";
      const { rows: found } = await database.query<{ name: string; digest: string }>(
        [...queries, events].join(' union all '),
      );
      return found.map(({ name, digest }) => `${name} ${digest}`);
    }),
  );
  return digests.flat();
}
