import type { Sql, SqlDatabase } from '@kr/database';
import { lockUnchanged } from '@kr/draft-lifecycle';
import { around, failpoint } from '@kr/failpoint';
import type { PackageVersion } from './package-version.ts';
import type { Publication, Refusal } from './publication.ts';
import type { PublicationLog } from './publish-ports.ts';

/** The columns with the names of `Publication`; constraints of the table guarantee the values. */
export const PUBLICATION_COLUMNS = `
  id, subject, entity_id as "entityId", package_parent_id as "packageParentId", state, epoch,
  created_at as "createdAt", lease_until as "leaseUntil", deadline, resource_ids as "resourceIds",
  published_ids as "publishedIds", participants, applied, decided_at as "decidedAt", refusal,
  requested_by as "requestedBy", actor, if_revision as "ifRevision"`;

export interface PublicationTimes {
  /** Milliseconds after which an owner that renews no lease loses the publication. */
  readonly leaseMs: number;
  /** Milliseconds that a publication may stay undecided. */
  readonly deadlineMs: number;
}

export interface PublicationStoreDeps {
  readonly database: SqlDatabase;
  readonly packageVersion: PackageVersion;
  readonly times: PublicationTimes;
}

const MIN_PAUSE_MS = 250;
const MAX_PAUSE_MS = 10_000;

/** The log of the saga on Postgres: every change of a state is a compare-and-set in one transaction. */
export function publicationStore({ database, packageVersion, times }: PublicationStoreDeps): PublicationLog {
  const lease = (now: Date) => new Date(now.getTime() + times.leaseMs);

  const readOr = async (sql: Sql, owned: Publication, changed?: Publication): Promise<Publication> =>
    changed ?? (await readPublications(sql, [owned.id]))[0] ?? owned;

  return {
    renew: around('publish.renew', async (owned, now) => {
      const renewed = await changed(
        database,
        `update publication set epoch = epoch + 1, lease_until = $3::timestamptz
         where id = $1::uuid and state = 'PREPARING' and epoch = $2::int`,
        owned.id,
        owned.epoch,
        lease(now).toISOString(),
      );
      return {
        isRenewed: renewed !== undefined,
        publication: await readOr(database, owned, renewed),
      };
    }),

    commit: around('publish.commit', (owned, publishedIds, manifests, now) =>
      database.$transaction(async (tx) => {
        const committed = await changed(
          tx,
          `update publication
           set state = 'COMMITTED', published_ids = $3::text[], decided_at = $4::timestamptz,
               lease_until = $5::timestamptz
           where id = $1::uuid and state = 'PREPARING' and epoch = $2::int`,
          owned.id,
          owned.epoch,
          publishedIds,
          now.toISOString(),
          lease(now).toISOString(),
        );
        if (committed?.subject === 'package') await packageVersion.publish(tx, committed, manifests);
        await failpoint('publish.commit.inside');
        return readOr(tx, owned, committed);
      }),
    ),

    abort: around('publish.abort', (owned, refusal, now) =>
      database.$transaction(async (tx) => {
        const aborted = await abortPreparing(tx, packageVersion, owned, {
          refusal,
          now,
          leaseUntil: lease(now),
        });
        await failpoint('publish.abort.inside');
        return readOr(tx, owned, aborted);
      }),
    ),

    async read(publicationId) {
      const [row] = await readPublications(database, [publicationId]);
      return row;
    },

    finish: around('publish.finish', async ({ id, state, participants }, now) => {
      await database.$executeRawUnsafe(
        `update publication set state = $3, applied = $4::text[], finished_at = $5::timestamptz
         where id = $1::uuid and state = $2`,
        id,
        state,
        state === 'COMMITTED' ? 'DONE' : 'ABORT_DONE',
        participants,
        now.toISOString(),
      );
    }),

    postpone: around('publish.postpone', async (publication, applied, now) => {
      const undeliveredMs = now.getTime() - (publication.decidedAt ?? now).getTime();
      const pauseMs = Math.min(Math.max(undeliveredMs, MIN_PAUSE_MS), MAX_PAUSE_MS);
      await database.$executeRawUnsafe(
        `update publication set applied = $3::text[], lease_until = $4::timestamptz
         where id = $1::uuid and epoch = $2::int`,
        publication.id,
        publication.epoch,
        applied,
        new Date(now.getTime() + pauseMs).toISOString(),
      );
    }),

    check: around('publish.check', packageVersion.check),
  };
}

export async function readPublications(sql: Sql, ids: readonly string[]): Promise<Publication[]> {
  return sql.$queryRawUnsafe<Publication[]>(
    `select ${PUBLICATION_COLUMNS} from publication where id = any($1::uuid[])`,
    ids,
  );
}

/** Aborts a publication of this epoch and unlocks the package's draft; undefined if it is not PREPARING any more. */
export async function abortPreparing(
  tx: Sql,
  packageVersion: Pick<PackageVersion, 'unlock'>,
  { id, epoch }: Pick<Publication, 'id' | 'epoch'>,
  { refusal, now, leaseUntil }: { refusal: Refusal; now: Date; leaseUntil: Date },
): Promise<Publication | undefined> {
  const aborted = await changed(
    tx,
    `update publication
     set state = 'ABORTED', refusal = $3::jsonb, decided_at = $4::timestamptz, lease_until = $5::timestamptz
     where id = $1::uuid and state = 'PREPARING' and epoch = $2::int`,
    id,
    epoch,
    JSON.stringify(refusal),
    now.toISOString(),
    leaseUntil.toISOString(),
  );
  if (aborted?.subject === 'package') await packageVersion.unlock(tx, aborted);
  return aborted;
}

/** The row that a compare-and-set has changed. */
async function changed(sql: Sql, update: string, ...values: unknown[]): Promise<Publication | undefined> {
  const [row] = await sql.$queryRawUnsafe<Publication[]>(
    `${update} returning ${PUBLICATION_COLUMNS}`,
    ...values,
  );
  return row;
}

export interface NewPublication
  extends Pick<
    Publication,
    | 'id'
    | 'subject'
    | 'entityId'
    | 'packageParentId'
    | 'leaseUntil'
    | 'deadline'
    | 'resourceIds'
    | 'participants'
    | 'requestedBy'
    | 'actor'
    | 'ifRevision'
  > {
  /** Ids and revision of the drafts. */
  readonly snapshot: object;
  readonly createdAt: Date;
}

const INSERT = `
  insert into publication
    (id, subject, entity_id, package_parent_id, state, epoch, lease_until, deadline, resource_ids, participants,
     snapshot, requested_by, actor, created_at, if_revision)
  select $1::text::uuid, $2, $3, $4, 'PREPARING', 1, $5::timestamptz, $6::timestamptz, $7::text[], $8::text[],
     $9::jsonb, $10, $11::jsonb, $12::timestamptz, $13::int`;
const INSERT_ALONE = `${INSERT} on conflict do nothing returning ${PUBLICATION_COLUMNS}`;
const INSERT_WITH_LOCK = `
  with ${lockUnchanged('$3', '$14', '$1')} ${INSERT} from locked returning ${PUBLICATION_COLUMNS}`;

/** Inserts it, with this process as its owner; undefined, and nothing written, while its entity is being published. */
export async function insertPublication(sql: Sql, one: NewPublication): Promise<Publication | undefined> {
  const [inserted] = await sql.$queryRawUnsafe<Publication[]>(INSERT_ALONE, ...valuesOf(one));
  return inserted;
}

/**
 * As `insertPublication`, for an entity whose draft is in this database: the same statement locks it. Undefined, and nothing
 * written, if the draft is at another revision or is being published.
 */
export async function insertLocking(
  sql: Sql,
  one: NewPublication,
  draftRevision: number,
): Promise<Publication | undefined> {
  const [inserted] = await sql.$queryRawUnsafe<Publication[]>(
    INSERT_WITH_LOCK,
    ...valuesOf(one),
    draftRevision,
  );
  return inserted;
}

function valuesOf(one: NewPublication): unknown[] {
  return [
    one.id,
    one.subject,
    one.entityId,
    one.packageParentId,
    one.leaseUntil.toISOString(),
    one.deadline.toISOString(),
    one.resourceIds,
    one.participants,
    JSON.stringify(one.snapshot),
    one.requestedBy,
    JSON.stringify(one.actor),
    one.createdAt.toISOString(),
    one.ifRevision,
  ];
}

/** The current publication of an entity. */
export async function runningPublication(
  sql: Sql,
  entityId: string,
): Promise<{ id: string; ifRevision: number } | undefined> {
  const [row] = await sql.$queryRawUnsafe<{ id: string; ifRevision: number }[]>(
    `select id, coalesce(if_revision, 0) as "ifRevision"
     from publication where entity_id = $1 and state = 'PREPARING'`,
    entityId,
  );
  return row;
}
