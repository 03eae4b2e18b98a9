import type { Publication } from '../publish/publication.ts';

/** A row with the names that the saga has for its columns; the database holds the columns to the saga's words. */
export interface PublicationRow extends Omit<Publication, 'ifRevision'> {
  readonly ifRevision: number | null;
}

export const PUBLICATION_COLUMNS = `
  id, subject, entity_id as "entityId", package_parent_id as "packageParentId", state, epoch,
  created_at as "createdAt", lease_until as "leaseUntil", deadline, resource_ids as "resourceIds",
  published_ids as "publishedIds", participants, applied, decided_at as "decidedAt", refusal,
  requested_by as "requestedBy", actor,
  (snapshot ->> 'ifRevision')::int as "ifRevision"`;

export function publicationOf({ ifRevision, ...row }: PublicationRow): Publication {
  return ifRevision === null ? row : { ...row, ifRevision };
}
