import type { Publication } from '../publish/publication.ts';
import type { Tx } from './prisma.ts';
import { PUBLICATION_COLUMNS, type PublicationRow, publicationOf } from './publication-row.ts';

/** A publication that nobody has worked on. */
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
  > {
  /** What is to be published, as it stands now. */
  readonly snapshot: object;
  readonly createdAt: Date;
}

/** Writes it, with this process as its owner; undefined, and nothing written, while its entity is being published. */
export async function insertPublication(tx: Tx, one: NewPublication): Promise<Publication | undefined> {
  const [row] = await tx.$queryRawUnsafe<PublicationRow[]>(
    `insert into publication
       (id, subject, entity_id, package_parent_id, state, epoch, lease_until, deadline, resource_ids, participants,
        snapshot, requested_by, created_at)
     values ($1::uuid, $2, $3, $4, 'PREPARING', 1, $5::timestamptz, $6::timestamptz, $7::text[], $8::text[], $9::jsonb,
        $10, $11::timestamptz)
     on conflict do nothing
     returning ${PUBLICATION_COLUMNS}`,
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
    one.createdAt.toISOString(),
  );
  return row === undefined ? undefined : publicationOf(row);
}

/** The publication that an entity is in at this moment. */
export async function runningPublication(sql: Tx, entityId: string): Promise<string | undefined> {
  const [row] = await sql.$queryRawUnsafe<{ id: string }[]>(
    `select id from publication where entity_id = $1 and state = 'PREPARING'`,
    entityId,
  );
  return row?.id;
}
