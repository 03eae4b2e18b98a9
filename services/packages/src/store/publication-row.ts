import type { Publication as Row } from '../gen/prisma/client.ts';
import type { Participant, Publication, PublicationState, Refusal } from '../publish/publication.ts';

/** The row as the saga knows it; the columns are constrained to these words by the database. */
export function publicationOf(row: Row): Publication {
  return {
    id: row.id,
    subject: row.subject as Publication['subject'],
    entityId: row.entityId,
    packageParentId: row.packageParentId,
    state: row.state as PublicationState,
    epoch: row.epoch,
    leaseUntil: row.leaseUntil,
    deadline: row.deadline,
    resourceIds: row.resourceIds,
    publishedIds: row.publishedIds,
    participants: row.participants as Participant[],
    applied: row.applied as Participant[],
    decidedAt: row.decidedAt,
    refusal: row.refusal as Refusal | null,
    requestedBy: row.requestedBy,
    ...ifRevisionOf(row.snapshot),
  };
}

function ifRevisionOf(snapshot: Row['snapshot']): Pick<Publication, 'ifRevision'> {
  const isObject = typeof snapshot === 'object' && snapshot !== null && !Array.isArray(snapshot);
  const ifRevision = isObject ? snapshot['ifRevision'] : undefined;
  return typeof ifRevision === 'number' ? { ifRevision } : {};
}
