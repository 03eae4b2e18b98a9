import type { Sql } from '@kr/database';

/** The tables that may reference blobs, by the place of the blobs in the store. Reservations may reference all. */
export type ReferenceSource = 'objects and uploads' | 'uploads' | 'unfinished uploads';

/** The ids that no row references. One statement, because a reference may move from one table to another. */
export async function findUnreferenced(
  sql: Sql,
  ids: readonly string[],
  { source, before }: { source: ReferenceSource; before: Date },
): Promise<Set<string>> {
  const rows = await sql.$queryRawUnsafe<{ id: string }[]>(
    `select id from unnest($1::uuid[]) as stored (id)
     where not exists (select from reservation r where r.id = stored.id and r.expires_at > $2)
       and not exists (
         select from upload u where u.id = stored.id and ($3 <> 'unfinished uploads' or u.finished_at is null))
       and ($3 <> 'objects and uploads' or not exists (select from object o where o.id = stored.id))`,
    ids,
    before,
    source,
  );
  return new Set(rows.map(({ id }) => id));
}
