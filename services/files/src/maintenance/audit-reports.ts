import type { Audit, DamagedObject } from '@kr/contracts';
import { executeWithNext, type Sql } from '@kr/database';
import { requireOperator } from '../access.ts';
import type { FilesContext } from '../context.ts';
import type { Rpc } from '../rpc.ts';
import type { Damage } from './audit-store.ts';

/** An audit as it is at one moment. */
export interface AuditReport extends Omit<Audit, 'startedAt' | 'finishedAt'> {
  startedAt: Date;
  finishedAt: Date | null;
}

const FIND_AUDIT = `
  select a.id::float8, a.started_at as "startedAt", a.finished_at as "finishedAt", a.is_hurried as "isHurried",
    coalesce(a.lease_until > now(), false) as "isRunning", a.objects::float8, a.bytes::float8, a.damaged::float8,
    rest.objects::float8 as "objectsLeft", rest.bytes::float8 as "bytesLeft"
  from (select * from audit where finished_at is not null or not $1::boolean order by id desc limit 1) a
  cross join lateral (
    select count(*) as objects, coalesce(sum(size), 0) as bytes from object
    where a.finished_at is null and id > a.position and created_at <= a.started_at) rest`;

/** The latest audit, or the latest finished one. */
export async function findAudit(
  sql: Sql,
  { isFinished }: { isFinished: boolean },
): Promise<AuditReport | undefined> {
  const [audit] = await sql.$queryRawUnsafe<AuditReport[]>(FIND_AUDIT, isFinished);
  return audit;
}

export async function countDamaged(sql: Sql): Promise<Record<Damage, number>> {
  const rows = await sql.$queryRawUnsafe<{ damage: Damage; count: number }[]>(
    'select damage, count(*)::int as count from object where damage is not null group by damage',
  );
  const counts = { different: 0, missing: 0, unreadable: 0 };
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

/** RPC ReadAudit. @throws ServiceError `forbidden`: the caller is neither a service nor an operator */
export function readAudit({ database }: FilesContext): Rpc<'ReadAudit'> {
  return async (_request, { principal }) => {
    requireOperator(principal);
    const [latest, finished] = await Promise.all([
      findAudit(database, { isFinished: false }),
      findAudit(database, { isFinished: true }),
    ]);
    // Last, because a reader that sees a finished audit must see all its findings.
    const [[objects], counts, damaged] = await Promise.all([
      database.$queryRawUnsafe<[ObjectCounts]>(COUNT_OBJECTS),
      countDamaged(database),
      database.$queryRawUnsafe<DamagedRow[]>(LIST_DAMAGED),
    ]);
    return {
      latest: auditMessage(latest),
      finished: auditMessage(finished),
      ...objects,
      oldestVerifiedAt: instant(objects.oldestVerifiedAt),
      damaged: counts.different + counts.missing + counts.unreadable,
      damagedObjects: damaged.map(({ damagedAt, verifiedAt, ...object }) => ({
        ...object,
        damagedAt: instant(damagedAt),
        verifiedAt: instant(verifiedAt),
      })),
    };
  };
}

function auditMessage(audit: AuditReport | undefined): Audit | null {
  if (audit === undefined) return null;
  return { ...audit, startedAt: instant(audit.startedAt), finishedAt: instant(audit.finishedAt) };
}

function instant(at: Date | null): string {
  return at?.toISOString() ?? '';
}

const BEGIN = `
  with begun as (
    insert into audit (started_at, is_hurried) values ($1, $2) on conflict do nothing returning id
  )
  select coalesce((select id from begun), (select max(id) from audit))::float8 as id`;

/**
 * RPC StartAudit. A hurried audit replaces an open one.
 * @param nudgeAuditor makes this process look for work at once
 * @throws ServiceError `forbidden`: the caller is neither a service nor an operator
 */
export function startAudit({ database, now }: FilesContext, nudgeAuditor: () => void): Rpc<'StartAudit'> {
  return async ({ isHurried }, { principal }) => {
    requireOperator(principal);
    const id = await database.$transaction(async (tx) => {
      // No other audit may begin in between.
      await executeWithNext(tx, 'lock table audit in share row exclusive mode');
      if (isHurried) await executeWithNext(tx, 'delete from audit where finished_at is null');
      const [audit] = await tx.$queryRawUnsafe<[{ id: number }]>(BEGIN, now(), isHurried);
      return audit.id;
    });
    nudgeAuditor();
    return { id };
  };
}
