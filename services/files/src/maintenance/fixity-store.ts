import type { Sql } from '@kr/database';

/** The kinds of damage that a verification may find. */
export type Damage = 'corrupt' | 'missing' | 'unreadable';

/** A fixity check that a process works on. */
export interface LeasedCheck {
  id: bigint;
  leaseHolder: string;
  isUnthrottled: boolean;
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

/** Starts a fixity check if none is open and the latest started before the instant. */
export async function startDue(sql: Sql, at: Date, before: Date): Promise<void> {
  await sql.$executeRawUnsafe(
    `insert into fixity_check (started_at, is_unthrottled)
     select $1::timestamptz, false
     where not exists (select from fixity_check where finished_at is null or started_at > $2)
     on conflict do nothing`,
    at,
    before,
  );
}

const LEASE = "interval '10 seconds'";

/** Leases the open check if no process works on it, by the clock of the database. */
export async function leaseOpenCheck(sql: Sql, leaseHolder: string): Promise<LeasedCheck | undefined> {
  const [leased] = await sql.$queryRawUnsafe<LeasedCheck[]>(
    `update fixity_check set lease_holder = $1, lease_until = now() + ${LEASE}
     where finished_at is null and (lease_until is null or lease_until < now())
     returning id, lease_holder as "leaseHolder", is_unthrottled as "isUnthrottled"`,
    leaseHolder,
  );
  return leased;
}

/** False if the lease is lost: the lease has expired, or another check has replaced it. */
export async function renewLease(sql: Sql, { id, leaseHolder }: LeasedCheck): Promise<boolean> {
  const renewed = await sql.$executeRawUnsafe(
    `update fixity_check set lease_until = now() + ${LEASE} where id = $1 and lease_holder = $2`,
    id,
    leaseHolder,
  );
  return renewed === 1;
}

/** Ends the lease. @param finishedAt null if objects are left to read */
export async function endLease(
  sql: Sql,
  { id, leaseHolder }: LeasedCheck,
  finishedAt: Date | null,
): Promise<void> {
  await sql.$executeRawUnsafe(
    `update fixity_check set finished_at = $3, lease_holder = null, lease_until = null
     where id = $1 and lease_holder = $2`,
    id,
    leaseHolder,
    finishedAt,
  );
}

/** The next objects of the check. Objects created after its start are left to the next one. */
export async function nextObjects(sql: Sql, { id }: LeasedCheck, limit: number): Promise<StoredObject[]> {
  return sql.$queryRawUnsafe(
    `select o.id, o.size::float8 as "sizeBytes", o.sha256
     from fixity_check a join object o on o.id > a.position and o.created_at <= a.started_at
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
    update fixity_check set position = ($3::uuid[])[cardinality($3)], objects = fixity_check.objects + counted.objects,
      bytes = fixity_check.bytes + counted.bytes, damaged = fixity_check.damaged + counted.damaged
    from counted where fixity_check.id = $1 and lease_holder = $2
  )
  select id, damage from marked where damage is not null`;

/**
 * Stores the results of consecutive objects, and the position of the check after them. Returns the damaged
 * ones; objects deleted since are neither counted nor among them.
 */
export async function saveFindings(
  sql: Sql,
  { id, leaseHolder }: LeasedCheck,
  findings: readonly Finding[],
  at: Date,
): Promise<{ id: string; damage: Damage }[]> {
  const ids = findings.map((finding) => finding.id);
  const damages = findings.map(({ damage }) => damage);
  return sql.$queryRawUnsafe(SAVE_FINDINGS, id, leaseHolder, ids, damages, at);
}
