import { lockUnchanged } from '@kr/draft-lifecycle';
import type { Publication } from '../publish/publication.ts';
import type { Tx } from './prisma.ts';
import { PUBLICATION_COLUMNS, type PublicationRow, publicationOf } from './publication-row.ts';

/** A new publication. */
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
  > {
  /** The content to publish, as of now. */
  readonly snapshot: object;
  readonly createdAt: Date;
}

const INSERT = `
  insert into publication
    (id, subject, entity_id, package_parent_id, state, epoch, lease_until, deadline, resource_ids, participants,
     snapshot, requested_by, actor, created_at)
  select $1::text::uuid, $2, $3, $4, 'PREPARING', 1, $5::timestamptz, $6::timestamptz, $7::text[], $8::text[],
     $9::jsonb, $10, $11::jsonb, $12::timestamptz`;
const INSERT_ALONE = `${INSERT} on conflict do nothing returning ${PUBLICATION_COLUMNS}`;
const INSERT_WITH_LOCK = `
  with ${lockUnchanged('$3', '$13', '$1')} ${INSERT} from locked returning ${PUBLICATION_COLUMNS}`;

/** Writes it, with this process as its owner; undefined, and nothing written, while its entity is being published. */
export async function insertPublication(sql: Tx, one: NewPublication): Promise<Publication | undefined> {
  return written(await sql.$queryRawUnsafe<PublicationRow[]>(INSERT_ALONE, ...valuesOf(one)));
}

/**
 * As `insertPublication`, for an entity whose draft is here: it is locked for the publication in the same statement.
 * Undefined, and nothing written, when the draft is not at that revision any more or is being published.
 */
export async function insertLocking(
  sql: Tx,
  one: NewPublication,
  draftRevision: number,
): Promise<Publication | undefined> {
  return written(
    await sql.$queryRawUnsafe<PublicationRow[]>(INSERT_WITH_LOCK, ...valuesOf(one), draftRevision),
  );
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
  ];
}

function written([row]: readonly PublicationRow[]): Publication | undefined {
  return row === undefined ? undefined : publicationOf(row);
}

/** The current publication of an entity. */
export async function runningPublication(
  sql: Tx,
  entityId: string,
): Promise<{ id: string; ifRevision: number } | undefined> {
  const [row] = await sql.$queryRawUnsafe<{ id: string; ifRevision: number }[]>(
    `select id, coalesce((snapshot ->> 'ifRevision')::int, 0) as "ifRevision"
     from publication where entity_id = $1 and state = 'PREPARING'`,
    entityId,
  );
  return row;
}
