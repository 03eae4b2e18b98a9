import type { Sql, SqlDatabase } from '@kr/database';

/** State of a DOI at DataCite, as it was last confirmed. */
export type RegistrationState = 'unregistered' | 'registered' | 'findable';

/**
 * States of a DOI for readers: `pending` before its first registration, `hidden` after it was findable, `failed` if DataCite refused to
 * register it. A refused update changes nothing for readers.
 */
export type DoiState = 'pending' | 'findable' | 'hidden' | 'unregistered' | 'failed';

export interface DoiRow {
  doi: string;
  entity_id: string;
  is_concept: boolean;
  state: RegistrationState;
  due_at: Date | null;
  changes: bigint;
  attempts: number;
  last_error: string | null;
  refused_at: Date | null;
  registered_at: Date | null;
}

const COLUMNS =
  'doi, entity_id, is_concept, state, due_at, changes, attempts, last_error, refused_at, registered_at';

/** A process that died with a lease blocks its DOIs that long. */
const LEASE_SECONDS = 120;

/** Leases the oldest due DOIs to this process. */
export function claimDue(database: SqlDatabase, limit: number): Promise<DoiRow[]> {
  return database.$queryRawUnsafe(
    `update doi_registration set leased_until = now() + interval '${LEASE_SECONDS} s'
     where doi in (
       select doi from doi_registration
       where due_at <= now() and (leased_until is null or leased_until < now())
       order by due_at limit $1 for update skip locked
     ) returning ${COLUMNS}`,
    limit,
  );
}

/** How an attempt ended. */
export interface Outcome {
  state: RegistrationState;
  /** When it is sent again although the entity does not change. */
  nextAt: Date | null;
  /** Undefined if it succeeded. */
  error?: string;
  /** DataCite refused it permanently. */
  isRefused?: boolean;
}

/** Ends the lease. A change of the entity since it was claimed leaves the DOI due. Returns the updated row. */
export async function finish(
  sql: Sql,
  { doi, changes }: DoiRow,
  { state, nextAt, error, isRefused = false }: Outcome,
): Promise<DoiRow | undefined> {
  const [row] = await sql.$queryRawUnsafe<DoiRow[]>(
    `update doi_registration
     set leased_until = null, state = $3,
         registered_at = case when $5::text is null and $3 <> 'unregistered' then now() else registered_at end,
         due_at = case when changes = $2::bigint then $4::timestamptz else due_at end,
         attempts = case when changes <> $2::bigint or $5::text is null then 0 else attempts + 1 end,
         last_error = case when changes = $2::bigint then $5::text end,
         refused_at = case when changes = $2::bigint and $6::boolean then now() end
     where doi = $1 returning ${COLUMNS}`,
    doi,
    String(changes),
    state,
    nextAt?.toISOString() ?? null,
    error ?? null,
    isRefused,
  );
  return row;
}

/** The versions whose documents show a DOI. */
export async function versionIdsOf(
  sql: Sql,
  { entity_id: entityId, is_concept: isConcept }: DoiRow,
): Promise<string[]> {
  if (!isConcept) return [entityId];
  const rows = await sql.$queryRawUnsafe<{ id: string }[]>(
    'select id from version where parent_id = $1',
    entityId,
  );
  return rows.map(({ id }) => id);
}

export function listDois(
  database: SqlDatabase,
  { afterDoi, limit, isFailed = false }: { afterDoi: string; limit: number; isFailed?: boolean },
): Promise<DoiRow[]> {
  return database.$queryRawUnsafe(
    `select ${COLUMNS} from doi_registration
     where doi > $1 ${isFailed ? 'and refused_at is not null' : ''} order by doi limit $2`,
    afterDoi,
    limit,
  );
}

/** Makes these DOIs due, or all refused ones. Returns the existing ones. */
export async function makeDue(database: SqlDatabase, dois: readonly string[] | 'refused'): Promise<string[]> {
  const condition = dois === 'refused' ? 'refused_at is not null' : 'lower(doi) = any($1::text[])';
  const rows = await database.$queryRawUnsafe<{ doi: string }[]>(
    `update doi_registration
     set due_at = now(), attempts = 0, refused_at = null, changes = changes + 1
     where ${condition} returning doi`,
    ...(dois === 'refused' ? [] : [dois.map((doi) => doi.toLowerCase())]),
  );
  return rows.map(({ doi }) => doi);
}

/** The states of the DOIs of these versions and parents, by DOI. */
export async function doiStates(sql: Sql, ids: readonly string[]): Promise<ReadonlyMap<string, DoiState>> {
  const rows = await sql.$queryRawUnsafe<DoiRow[]>(
    `select ${COLUMNS} from doi_registration where entity_id = any($1::text[])`,
    ids,
  );
  return new Map(rows.map((row) => [row.doi, stateOf(row)]));
}

export function stateOf({ state, refused_at: refusedAt, registered_at: at, ...row }: DoiRow): DoiState {
  if (state === 'findable') return 'findable';
  if (at !== null) return 'hidden';
  if (refusedAt !== null) return 'failed';
  return row.due_at === null ? 'unregistered' : 'pending';
}

/** Numbers for metrics. */
export interface Backlog {
  due: number;
  failed: number;
  /** Seconds since the change that has been waiting longest. */
  oldestSeconds: number;
}

export async function readBacklog(database: SqlDatabase): Promise<Backlog> {
  const [row] = await database.$queryRawUnsafe<Backlog[]>(
    `select (select count(*) from doi_registration where refused_at is not null)::int as failed,
            count(*)::int as due,
            coalesce(extract(epoch from now() - min(changed_at)), 0)::float8 as "oldestSeconds"
     from doi_registration where due_at is not null and (due_at <= now() or attempts > 0)`,
  );
  return row ?? { due: 0, failed: 0, oldestSeconds: 0 };
}
