import type { Sql } from '@kr/database';

/** The kinds of damage that a verification may find. */
export type Damage = 'different' | 'missing' | 'unreadable';

/** An audit that a process works on. */
export interface HeldAudit {
  id: bigint;
  leaseHolder: string;
  isHurried: boolean;
}

/** An object as it was when it was stored. */
export interface StoredObject {
  id: string;
  sizeBytes: number;
  sha256: string;
}

/** The result for one object. */
export interface Finding {
  id: string;
  damage: Damage | null;
}

/** Begins an audit if none is open and the latest began before the instant. */
export async function beginDue(sql: Sql, at: Date, before: Date): Promise<void> {
  await sql.$executeRawUnsafe(
    `insert into audit (started_at, is_hurried)
     select $1::timestamptz, false
     where not exists (select from audit where finished_at is null or started_at > $2)
     on conflict do nothing`,
    at,
    before,
  );
}

const LEASE = "interval '10 seconds'";

/** Takes the open audit when no process works on it, by the clock of the database. */
export async function takeAudit(sql: Sql, leaseHolder: string): Promise<HeldAudit | undefined> {
  const [held] = await sql.$queryRawUnsafe<HeldAudit[]>(
    `update audit set lease_holder = $1, lease_until = now() + ${LEASE}
     where finished_at is null and (lease_until is null or lease_until < now())
     returning id, lease_holder as "leaseHolder", is_hurried as "isHurried"`,
    leaseHolder,
  );
  return held;
}

/** False when it is not held any more: the lease has expired, or another audit was begun in its place. */
export async function renewAudit(sql: Sql, { id, leaseHolder }: HeldAudit): Promise<boolean> {
  const renewed = await sql.$executeRawUnsafe(
    `update audit set lease_until = now() + ${LEASE} where id = $1 and lease_holder = $2`,
    id,
    leaseHolder,
  );
  return renewed === 1;
}

/** Ends the lease. @param finishedAt null if objects are left to read */
export async function releaseAudit(
  sql: Sql,
  { id, leaseHolder }: HeldAudit,
  finishedAt: Date | null,
): Promise<void> {
  await sql.$executeRawUnsafe(
    `update audit set finished_at = $3, lease_holder = null, lease_until = null
     where id = $1 and lease_holder = $2`,
    id,
    leaseHolder,
    finishedAt,
  );
}

/** The next objects of the audit. Objects created after its start are left to the next one. */
export async function nextObjects(sql: Sql, { id }: HeldAudit, limit: number): Promise<StoredObject[]> {
  return sql.$queryRawUnsafe(
    `select o.id, o.size::float8 as "sizeBytes", o.sha256
     from audit a join object o on o.id > a.position and o.created_at <= a.started_at
     where a.id = $1 order by o.id limit $2`,
    id,
    limit,
  );
}

const SAVE_FINDINGS = `
  with found as (
    select id, damage from unnest($3::uuid[], $4::text[]) as finding (id, damage)
  ), marked as (
    update object o set damage = found.damage,
      damaged_at = case when found.damage is null then null else coalesce(o.damaged_at, $5) end,
      verified_at = case when found.damage is null then $5 else o.verified_at end
    from found where o.id = found.id
    returning o.id, o.size, o.damage
  ), counted as (
    select count(*) as objects, coalesce(sum(size), 0) as bytes, count(damage) as damaged from marked
  ), moved as (
    update audit set position = ($3::uuid[])[cardinality($3)], objects = audit.objects + counted.objects,
      bytes = audit.bytes + counted.bytes, damaged = audit.damaged + counted.damaged
    from counted where audit.id = $1 and lease_holder = $2
  )
  select id, damage from marked where damage is not null`;

/**
 * Stores the results of consecutive objects, and the position of the audit after them. Returns the damaged
 * ones; objects deleted since are neither counted nor among them.
 */
export async function saveFindings(
  sql: Sql,
  { id, leaseHolder }: HeldAudit,
  findings: readonly Finding[],
  at: Date,
): Promise<{ id: string; damage: Damage }[]> {
  const ids = findings.map((finding) => finding.id);
  const damages = findings.map(({ damage }) => damage);
  return sql.$queryRawUnsafe(SAVE_FINDINGS, id, leaseHolder, ids, damages, at);
}
