import type { Logger } from '@kr/telemetry';
import type { Database, Tx } from '../store/prisma.ts';

export interface CheckUsageDeps {
  database: Database;
  logger: Logger;
}

/**
 * Compares the counter of every owner with the rows that it counts, and corrects counters that differ: triggers keep them,
 * but objects stored by the previous release during an upgrade have no owner, and tables may be changed by hand.
 *
 * @returns how many counters were corrected
 */
export async function checkUsage({ database, logger }: CheckUsageDeps): Promise<number> {
  await setMissingOwners(database);
  let corrected = 0;
  let ownerId: string | null = '';
  for (;;) {
    ownerId = await nextOwner(database, ownerId);
    if (ownerId === null) return corrected;
    if ((await differenceOf(database, ownerId)) === 0n) continue;
    const owner = ownerId;
    const bytes = await database.$transaction((tx) => correct(tx, owner));
    if (bytes === 0n) continue;
    corrected += 1;
    logger.error({ ownerId, bytes }, 'the usage of a user was counted wrongly and is corrected');
  }
}

const AT_ONCE = 5_000;

/** No trigger counts this change; the comparison does. */
async function setMissingOwners(database: Database): Promise<void> {
  for (;;) {
    const changed = await database.$executeRaw`
      update object set owner_id = found.owner_id
      from (
        select o.id, min(b.owner_id) as owner_id
        from object o join entry e on e.object_id = o.id join bucket b on b.entity_id = e.entity_id
        where o.owner_id is null and b.owner_id is not null
        group by o.id limit ${AT_ONCE}
      ) as found
      where object.id = found.id`;
    if (changed < AT_ONCE) return;
  }
}

async function nextOwner(db: Tx, after: string): Promise<string | null> {
  const [row] = await db.$queryRaw<{ owner: string | null }[]>`
    select least(
      (select min(owner_id) from owner_usage where owner_id > ${after}),
      (select min(owner_id) from object where owner_id > ${after}),
      (select min(owner_id) from reservation where owner_id > ${after}),
      (select min(owner_id) from upload where owner_id > ${after})) as owner`;
  return row?.owner ?? null;
}

/** How many bytes the rows have in excess of the counter, in one statement: it sees both at the same moment. */
async function differenceOf(db: Tx, ownerId: string): Promise<bigint> {
  const [row] = await db.$queryRaw<{ difference: bigint }[]>`
    select ((select coalesce(sum(size), 0) from object where owner_id = ${ownerId})
      + (select coalesce(sum(bytes), 0) from reservation where owner_id = ${ownerId})
      + (select coalesce(sum(upload_usage(upload)), 0) from upload where owner_id = ${ownerId})
      - coalesce((select bytes from owner_usage where owner_id = ${ownerId}), 0))::bigint as difference`;
  return row?.difference ?? 0n;
}

/** With the counter locked, so that two processes do not both correct it. */
async function correct(tx: Tx, ownerId: string): Promise<bigint> {
  await tx.$executeRaw`
    insert into owner_usage (owner_id, bytes) values (${ownerId}, 0)
    on conflict (owner_id) do update set bytes = owner_usage.bytes`;
  const difference = await differenceOf(tx, ownerId);
  await tx.$executeRaw`
    update owner_usage set bytes = bytes + ${difference}::bigint where owner_id = ${ownerId}`;
  return difference;
}
