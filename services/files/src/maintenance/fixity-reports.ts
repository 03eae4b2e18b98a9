import type { DamagedObject, FixityCheck } from '@kr/contracts';
import { executeWithNext, type Sql } from '@kr/database';
import { requireOperator } from '../access.ts';
import type { FilesContext } from '../context.ts';
import type { Rpc } from '../rpc.ts';
import type { Damage } from './fixity-store.ts';

/** Snapshot of a check. */
export interface FixityCheckStatus extends Omit<FixityCheck, 'startedAt' | 'finishedAt'> {
  startedAt: Date;
  finishedAt: Date | null;
}

const FIND_CHECK = `
  select a.id::float8, a.started_at as "startedAt", a.finished_at as "finishedAt", a.is_unthrottled as "isUnthrottled",
    coalesce(a.lease_until > now(), false) as "isRunning", a.objects::float8, a.bytes::float8, a.damaged::float8,
    rest.objects::float8 as "objectsLeft", rest.bytes::float8 as "bytesLeft"
  from (select * from fixity_check where finished_at is not null or not $1::boolean order by id desc limit 1) a
  cross join lateral (
    select count(*) as objects, coalesce(sum(size), 0) as bytes from object
    where a.finished_at is null and id > a.position and created_at <= a.started_at) rest`;

/** The latest check, or the latest finished one. */
export async function findFixityCheck(
  sql: Sql,
  { isFinished }: { isFinished: boolean },
): Promise<FixityCheckStatus | undefined> {
  const [check] = await sql.$queryRawUnsafe<FixityCheckStatus[]>(FIND_CHECK, isFinished);
  return check;
}

export async function countDamaged(sql: Sql): Promise<Record<Damage, number>> {
  const rows = await sql.$queryRawUnsafe<{ damage: Damage; count: number }[]>(
    'select damage, count(*)::int as count from object where damage is not null group by damage',
  );
  const counts = { corrupt: 0, missing: 0, unreadable: 0 };
  for (const { damage, count } of rows) counts[damage] = count;
  return counts;
}

const COUNT_OBJECTS = `
  select count(*)::float8 as objects, coalesce(sum(size), 0)::float8 as bytes,
    count(*) filter (where verified_at is null)::float8 as "neverVerified", min(verified_at) as "oldestVerifiedAt"
  from object`;

interface ObjectCounts {
  objects: number;
  bytes: number;
  neverVerified: number;
  oldestVerifiedAt: Date | null;
}

/** The first thousand, with up to twenty of the files of each. */
const LIST_DAMAGED = `
  select o.id, o.damage, o.size::float8, o.damaged_at as "damagedAt", o.verified_at as "verifiedAt",
    coalesce((
      select json_agg(json_build_object('entityId', entity_id, 'key', key)) from (
        select entity_id, key from entry where object_id = o.id order by entity_id, key limit 20) e
    ), '[]') as files
  from object o where o.damage is not null order by o.id limit 1000`;

interface DamagedRow extends Omit<DamagedObject, 'damagedAt' | 'verifiedAt'> {
  damagedAt: Date;
  verifiedAt: Date | null;
}

/** RPC ReadFixityReport. @throws ServiceError `forbidden`: the caller is neither a service nor an operator */
export function readFixityReport({ database }: FilesContext): Rpc<'ReadFixityReport'> {
  return async (_request, { principal }) => {
    requireOperator(principal);
    const [latest, finished] = await Promise.all([
      findFixityCheck(database, { isFinished: false }),
      findFixityCheck(database, { isFinished: true }),
    ]);
    // Last, because a reader that sees a finished check must see all its findings.
    const [[objects], counts, damaged] = await Promise.all([
      database.$queryRawUnsafe<[ObjectCounts]>(COUNT_OBJECTS),
      countDamaged(database),
      database.$queryRawUnsafe<DamagedRow[]>(LIST_DAMAGED),
    ]);
    return {
      latest: fixityCheckMessage(latest),
      finished: fixityCheckMessage(finished),
      ...objects,
      oldestVerifiedAt: instant(objects.oldestVerifiedAt),
      damaged: counts.corrupt + counts.missing + counts.unreadable,
      damagedObjects: damaged.map(({ damagedAt, verifiedAt, ...object }) => ({
        ...object,
        damagedAt: instant(damagedAt),
        verifiedAt: instant(verifiedAt),
      })),
    };
  };
}

function fixityCheckMessage(check: FixityCheckStatus | undefined): FixityCheck | null {
  if (check === undefined) return null;
  return { ...check, startedAt: instant(check.startedAt), finishedAt: instant(check.finishedAt) };
}

function instant(at: Date | null): string {
  return at?.toISOString() ?? '';
}

const START = `
  with started as (
    insert into fixity_check (started_at, is_unthrottled) values ($1, $2) on conflict do nothing returning id
  )
  select coalesce((select id from started), (select max(id) from fixity_check))::float8 as id`;

/**
 * RPC StartFixityCheck. An unthrottled check replaces an open one.
 * @param nudgeFixityChecker makes this process look for work at once
 * @throws ServiceError `forbidden`: the caller is neither a service nor an operator
 */
export function startFixityCheck(
  { database, now }: FilesContext,
  nudgeFixityChecker: () => void,
): Rpc<'StartFixityCheck'> {
  return async ({ isUnthrottled }, { principal }) => {
    requireOperator(principal);
    const id = await database.$transaction(async (tx) => {
      // No other check may start in between.
      await executeWithNext(tx, 'lock table fixity_check in share row exclusive mode');
      if (isUnthrottled) await executeWithNext(tx, 'delete from fixity_check where finished_at is null');
      const [check] = await tx.$queryRawUnsafe<[{ id: number }]>(START, now(), isUnthrottled);
      return check.id;
    });
    nudgeFixityChecker();
    return { id };
  };
}
