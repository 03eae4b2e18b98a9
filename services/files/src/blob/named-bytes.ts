import type { Sql } from '@kr/database';

/** The tables whose rows may name bytes, by the place of the bytes. Reservations may name all bytes. */
export type NamedIn = 'objects and uploads' | 'uploads' | 'unfinished uploads';

/** The ids that no row names. One statement, because a name may move from one table to another. */
export async function unnamed(
  sql: Sql,
  ids: readonly string[],
  { namedIn, before }: { namedIn: NamedIn; before: Date },
): Promise<Set<string>> {
  const rows = await sql.$queryRawUnsafe<{ id: string }[]>(
    `select id from unnest($1::uuid[]) as stored (id)
     where not exists (select from reservation r where r.id = stored.id and r.expires_at > $2)
       and not exists (
         select from upload u where u.id = stored.id and ($3 <> 'unfinished uploads' or u.finished_at is null))
       and ($3 <> 'objects and uploads' or not exists (select from object o where o.id = stored.id))`,
    ids,
    before,
    namedIn,
  );
  return new Set(rows.map(({ id }) => id));
}
