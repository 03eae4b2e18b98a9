import type { Audit, DamagedObject as DamagedMessage } from '@kr/contracts';
import { requireOperator } from '../access.ts';
import type { Rpc } from '../rpc.ts';
import type { Database } from '../store/prisma.ts';
import { beginAnew, beginUnlessOpen, type Damage } from './audit-store.ts';

/** An audit as it is at one moment. */
export interface AuditReport {
  id: bigint;
  startedAt: Date;
  finishedAt: Date | null;
  isHurried: boolean;
  isRunning: boolean;
  objects: bigint;
  bytes: bigint;
  damaged: bigint;
  objectsLeft: bigint;
  bytesLeft: bigint;
}

/** Totals over all objects. */
export interface ObjectsReport {
  objects: bigint;
  bytes: bigint;
  neverVerified: bigint;
  oldestVerifiedAt: Date | null;
}

export interface DamagedObject {
  id: string;
  damage: Damage;
  size: bigint;
  damagedAt: Date;
  verifiedAt: Date | null;
  files: { entityId: string; key: string }[];
}

/** The latest audit, or the latest finished one. */
export async function findAudit(
  db: Database,
  { isFinished }: { isFinished: boolean },
): Promise<AuditReport | undefined> {
  const [row] = await db.$queryRaw<AuditReport[]>`
    select a.id, a.started_at as "startedAt", a.finished_at as "finishedAt", a.is_hurried as "isHurried",
      coalesce(a.lease_until > now(), false) as "isRunning", a.objects, a.bytes, a.damaged,
      rest.objects as "objectsLeft", rest.bytes as "bytesLeft"
    from (select * from audit where finished_at is not null or not ${isFinished}::boolean order by id desc limit 1) a
    cross join lateral (
      select count(*) as objects, coalesce(sum(size), 0)::bigint as bytes from object
      where a.finished_at is null and id > a.position and created_at <= a.started_at) rest`;
  return row;
}

async function reportObjects(db: Database): Promise<ObjectsReport> {
  const [row] = await db.$queryRaw<ObjectsReport[]>`
    select count(*) as objects, coalesce(sum(size), 0)::bigint as bytes,
      count(*) filter (where verified_at is null) as "neverVerified", min(verified_at) as "oldestVerifiedAt"
    from object`;
  return row ?? { objects: 0n, bytes: 0n, neverVerified: 0n, oldestVerifiedAt: null };
}

export async function countDamaged(db: Database): Promise<Record<Damage, number>> {
  const rows = await db.$queryRaw<{ damage: Damage; count: number }[]>`
    select damage, count(*)::int as count from object where damage is not null group by damage`;
  const counts = { different: 0, missing: 0, unreadable: 0 };
  for (const { damage, count } of rows) counts[damage] = count;
  return counts;
}

/** With some of the files that have each of them. */
async function listDamaged(
  db: Database,
  { limit, filesLimit }: { limit: number; filesLimit: number },
): Promise<DamagedObject[]> {
  return db.$queryRaw<DamagedObject[]>`
    select o.id, o.damage, o.size, o.damaged_at as "damagedAt", o.verified_at as "verifiedAt",
      coalesce((
        select json_agg(json_build_object('entityId', entity_id, 'key', key)) from (
          select entity_id, key from entry where object_id = o.id order by entity_id, key limit ${filesLimit}) e
      ), '[]') as files
    from object o where o.damage is not null order by o.id limit ${limit}`;
}

const MOST_DAMAGED = 1_000;
const MOST_FILES = 20;

/** RPC ReadAudit. @throws ServiceError `forbidden`: the caller is neither a service nor an operator */
export function readAudit({ database }: { database: Database }): Rpc<'ReadAudit'> {
  return async (_request, { principal }) => {
    requireOperator(principal);
    const [latest, finished] = await Promise.all([
      findAudit(database, { isFinished: false }),
      findAudit(database, { isFinished: true }),
    ]);
    // Last, because a reader that sees a finished audit must see all its findings.
    const [all, counts, damaged] = await Promise.all([
      reportObjects(database),
      countDamaged(database),
      listDamaged(database, { limit: MOST_DAMAGED, filesLimit: MOST_FILES }),
    ]);
    return {
      latest: auditMessage(latest),
      finished: auditMessage(finished),
      objects: String(all.objects),
      bytes: String(all.bytes),
      neverVerified: String(all.neverVerified),
      oldestVerifiedAt: instant(all.oldestVerifiedAt),
      damaged: counts.different + counts.missing + counts.unreadable,
      damagedObjects: damaged.map(damagedMessage),
    };
  };
}

function auditMessage(audit: AuditReport | undefined): Audit | null {
  if (audit === undefined) return null;
  const { id, startedAt, finishedAt, isHurried, isRunning, ...counts } = audit;
  const numbers = Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, String(count)]));
  return {
    id: String(id),
    startedAt: instant(startedAt),
    finishedAt: instant(finishedAt),
    isHurried,
    isRunning,
    ...numbers,
  };
}

function damagedMessage({ id, damage, size, damagedAt, verifiedAt, files }: DamagedObject): DamagedMessage {
  return {
    id,
    damage,
    size: String(size),
    damagedAt: instant(damagedAt),
    verifiedAt: instant(verifiedAt),
    files,
  };
}

function instant(at: Date | null): string {
  return at?.toISOString() ?? '';
}

export interface StartAuditDeps {
  database: Database;
  now: () => Date;
  /** Has this process look for work at once. */
  nudgeAuditor: () => void;
}

/** RPC StartAudit. @throws ServiceError `forbidden`: the caller is neither a service nor an operator */
export function startAudit({ database, now, nudgeAuditor }: StartAuditDeps): Rpc<'StartAudit'> {
  return async ({ isHurried }, { principal }) => {
    requireOperator(principal);
    const id = await (isHurried ? beginAnew(database, now()) : beginUnlessOpen(database, now()));
    nudgeAuditor();
    return { id: String(id) };
  };
}
