import type { Sql, SqlDatabase } from '@kr/database';
import type { FilesContext } from '../context.ts';

const NEXT_OWNER = `
  select least(
    (select min(owner_id) from owner_usage where owner_id > $1),
    (select min(owner_id) from object where owner_id > $1),
    (select min(owner_id) from reservation where owner_id > $1),
    (select min(owner_id) from upload where owner_id > $1)) as owner`;

/** How many bytes the rows have in excess of the counter, in one statement: it sees both at the same moment. */
const DIFFERENCE = `
  select ((select coalesce(sum(size), 0) from object where owner_id = $1)
    + (select coalesce(sum(bytes), 0) from reservation where owner_id = $1)
    + (select coalesce(sum(upload_usage(upload)), 0) from upload where owner_id = $1)
    - coalesce((select bytes from owner_usage where owner_id = $1), 0))::float8 as bytes`;

/** Locked, so that two processes do not both correct it. */
const LOCK_COUNTER = `
  insert into owner_usage (owner_id, bytes) values ($1, 0)
  on conflict (owner_id) do update set bytes = owner_usage.bytes`;

/**
 * Compares the counter of every owner with the rows that it counts, and corrects counters that differ: triggers keep them,
 * but tables may be changed by hand.
 *
 * @returns how many counters were corrected
 */
export async function checkUsage({
  database,
  logger,
}: Pick<FilesContext, 'database' | 'logger'>): Promise<number> {
  let corrected = 0;
  for (let ownerId: string | null = ''; ; ) {
    const [next]: { owner: string | null }[] = await database.$queryRawUnsafe(NEXT_OWNER, ownerId);
    ownerId = next?.owner ?? null;
    if (ownerId === null) return corrected;
    if ((await differenceOf(database, ownerId)) === 0) continue;
    const bytes = await correct(database, ownerId);
    if (bytes === 0) continue;
    corrected += 1;
    logger.error({ ownerId, bytes }, 'the usage of a user was counted wrongly and is corrected');
  }
}

function correct(database: SqlDatabase, ownerId: string): Promise<number> {
  return database.$transaction(async (tx) => {
    await tx.$executeRawUnsafe(LOCK_COUNTER, ownerId);
    const bytes = await differenceOf(tx, ownerId);
    await tx.$executeRawUnsafe(
      'update owner_usage set bytes = bytes + $2 where owner_id = $1',
      ownerId,
      bytes,
    );
    return bytes;
  });
}

async function differenceOf(sql: Sql, ownerId: string): Promise<number> {
  const [row] = await sql.$queryRawUnsafe<[{ bytes: number }]>(DIFFERENCE, ownerId);
  return row.bytes;
}
