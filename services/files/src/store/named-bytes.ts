import type { Database } from './prisma.ts';

/** The tables whose rows may name bytes, by the place of the bytes. Reservations may name all bytes. */
export type NamedIn = 'objects and uploads' | 'uploads' | 'unfinished uploads';

/** Deletes expired reservations, so that a delayed upload fails instead of using bytes that are about to be removed. */
export async function endReservations(db: Database, ids: readonly string[], before: Date): Promise<void> {
  await db.$executeRaw`delete from reservation where id = any(${[...ids]}::uuid[]) and expires_at <= ${before}`;
}

/** Deletes the reservations of processes that died; each upload deletes those of the same owner. */
export async function deleteExpiredReservations(db: Database, at: Date): Promise<void> {
  await db.$executeRaw`
    delete from reservation where id in (
      select id from reservation where expires_at <= ${at} order by owner_id limit 1000 for update skip locked)`;
}

/** The ids that no row names. One statement, because a name may move from one table to another. */
export async function unnamed(
  db: Database,
  ids: readonly string[],
  { namedIn, before }: { namedIn: NamedIn; before: Date },
): Promise<Set<string>> {
  const rows = await db.$queryRaw<{ id: string }[]>`
    select id from unnest(${[...ids]}::uuid[]) as stored (id)
    where not exists (select from reservation r where r.id = stored.id and r.expires_at > ${before})
      and not exists (
        select from upload u where u.id = stored.id
          and (${namedIn !== 'unfinished uploads'}::boolean or u.finished_at is null))
      and (${namedIn !== 'objects and uploads'}::boolean
        or not exists (select from object o where o.id = stored.id))`;
  return new Set(rows.map(({ id }) => id));
}
