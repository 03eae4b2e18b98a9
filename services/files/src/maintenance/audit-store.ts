import type { Database } from '../store/prisma.ts';

/** The kinds of damage that a verification may find. */
export type Damage = 'different' | 'missing' | 'unreadable';

/** An audit that a process works on, and for how long it may. */
export interface HeldAudit {
  id: bigint;
  startedAt: Date;
  isHurried: boolean;
}

export interface Holder {
  leaseHolder: string;
  leaseMs: number;
}

/** An object as it was when it was stored. */
export interface StoredObject {
  id: string;
  sizeBytes: number;
  md5: string;
  sha256: string | null;
}

/** The result for one object. */
export interface Finding {
  id: string;
  damage: Damage | null;
}

/** Begins an audit when none is open and the latest began long enough ago. */
export async function beginDue(db: Database, at: Date, everyMs: number): Promise<void> {
  const latest = new Date(at.getTime() - everyMs);
  await db.$executeRaw`
    insert into audit (started_at, is_hurried)
    select ${at}, false where not exists (select from audit where finished_at is null or started_at > ${latest})
    on conflict do nothing`;
}

/** Begins an audit unless one is open; returns it. */
export async function beginUnlessOpen(db: Database, at: Date): Promise<bigint> {
  await db.$executeRaw`insert into audit (started_at, is_hurried) values (${at}, false) on conflict do nothing`;
  const [row] = await db.$queryRaw<{ id: bigint }[]>`select max(id) as id from audit`;
  return row?.id ?? 0n;
}

/** Begins an audit that somebody waits for, in place of one that is open. */
export async function beginAnew(db: Database, at: Date): Promise<bigint> {
  return db.$transaction(async (tx) => {
    // Another one must not begin between the two.
    await tx.$executeRaw`lock table audit in share row exclusive mode`;
    await tx.$executeRaw`delete from audit where finished_at is null`;
    const [row] = await tx.$queryRaw<{ id: bigint }[]>`
      insert into audit (started_at, is_hurried) values (${at}, true) returning id`;
    return row?.id ?? 0n;
  });
}

/** Takes the open audit when no process works on it, by the clock of the database. */
export async function takeAudit(
  db: Database,
  { leaseHolder, leaseMs }: Holder,
): Promise<HeldAudit | undefined> {
  const [row] = await db.$queryRaw<HeldAudit[]>`
    update audit set lease_holder = ${leaseHolder}::uuid,
      lease_until = now() + ${leaseMs}::integer * interval '1 millisecond'
    where finished_at is null and (lease_until is null or lease_until < now())
    returning id, started_at as "startedAt", is_hurried as "isHurried"`;
  return row;
}

/** False when it is held no more: its time was over, or another was begun in its place. */
export async function renewAudit(
  db: Database,
  { id, leaseHolder, leaseMs }: Holder & { id: bigint },
): Promise<boolean> {
  const renewed = await db.$executeRaw`
    update audit set lease_until = now() + ${leaseMs}::integer * interval '1 millisecond'
    where id = ${id}::bigint and lease_holder = ${leaseHolder}::uuid`;
  return renewed === 1;
}

export async function releaseAudit(db: Database, id: bigint, leaseHolder: string): Promise<void> {
  await db.$executeRaw`
    update audit set lease_holder = null, lease_until = null
    where id = ${id}::bigint and lease_holder = ${leaseHolder}::uuid`;
}

export async function finishAudit(db: Database, id: bigint, leaseHolder: string, at: Date): Promise<void> {
  await db.$executeRaw`
    update audit set finished_at = ${at}, lease_holder = null, lease_until = null
    where id = ${id}::bigint and lease_holder = ${leaseHolder}::uuid`;
}

/** The next objects of the audit. Objects created after its start are left to the next one. */
export async function nextObjects(db: Database, id: bigint, limit: number): Promise<StoredObject[]> {
  const rows = await db.$queryRaw<(Omit<StoredObject, 'sizeBytes'> & { size: bigint })[]>`
    select o.id, o.size, o.md5, o.sha256 from audit a join object o on o.id > a.position and o.created_at <= a.started_at
    where a.id = ${id}::bigint order by o.id limit ${limit}`;
  return rows.map(({ size, ...row }) => ({ ...row, sizeBytes: Number(size) }));
}

/**
 * Stores the results of consecutive objects, and the position of the audit after them. Returns the damaged
 * ones; objects deleted since are neither counted nor among them.
 */
export async function saveFindings(
  db: Database,
  { id, leaseHolder }: { id: bigint; leaseHolder: string },
  findings: readonly Finding[],
  at: Date,
): Promise<{ id: string; damage: Damage }[]> {
  const ids = findings.map((finding) => finding.id);
  const damages = findings.map(({ damage }) => damage ?? '');
  return db.$queryRaw<{ id: string; damage: Damage }[]>`
    with found as (
      select id, nullif(damage, '') as damage from unnest(${ids}::uuid[], ${damages}::text[]) as finding (id, damage)
    ), marked as (
      update object o set damage = found.damage,
        damaged_at = case when found.damage is null then null else coalesce(o.damaged_at, ${at}) end,
        verified_at = case when found.damage is null then ${at} else o.verified_at end
      from found where o.id = found.id
      returning o.id, o.size, o.damage
    ), counted as (
      select count(*) as objects, coalesce(sum(size), 0) as bytes, count(damage) as damaged from marked
    ), moved as (
      update audit set position = ${ids.at(-1)}::uuid, objects = audit.objects + counted.objects,
        bytes = audit.bytes + counted.bytes, damaged = audit.damaged + counted.damaged
      from counted where audit.id = ${id}::bigint and lease_holder = ${leaseHolder}::uuid
    )
    select id, damage from marked where damage is not null`;
}

/** Records of one object, outside of an audit, that it is not what was stored. */
export async function markDifferent(db: Database, objectId: string, at: Date): Promise<void> {
  await db.$executeRaw`
    update object set damage = 'different', damaged_at = coalesce(damaged_at, ${at}) where id = ${objectId}::uuid`;
}
