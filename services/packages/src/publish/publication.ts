import type { Actor } from '@kr/caller';
import type { ErrorKind, Issue } from '@kr/service-error';

export const PUBLICATION_STATES = ['PREPARING', 'COMMITTED', 'ABORTED', 'DONE', 'ABORT_DONE'] as const;

export type PublicationState = (typeof PUBLICATION_STATES)[number];

/** Services that store a part of a publication and are notified of its decision. */
export type ParticipantName = 'files' | 'records';

/** Why a publication was refused: stored with it, so that all callers and repeats get the same answer. */
export interface Refusal {
  readonly kind: ErrorKind;
  readonly message: string;
  readonly issues: readonly Issue[];
  readonly code?: string;
  readonly retryAfterMs?: number;
  readonly currentRevision?: number;
}

/** One publication as stored in its row: the log of the saga. */
export interface Publication {
  readonly id: string;
  readonly subject: 'record' | 'package';
  /** The package, or the resource that is published alone. */
  readonly entityId: string;
  /** Set for packages only. */
  readonly packageParentId: string | null;
  readonly state: PublicationState;
  /** Grows with each owner; only the owner of the current one may decide. */
  readonly epoch: number;
  readonly createdAt: Date;
  readonly leaseUntil: Date;
  readonly deadline: Date;
  /** The resources that the records service votes on, in the package's order. */
  readonly resourceIds: readonly string[];
  /** Ids that became visible at the commit point; empty before it. */
  readonly publishedIds: readonly string[];
  readonly participants: readonly ParticipantName[];
  /** The participants that have applied the decision. */
  readonly applied: readonly ParticipantName[];
  /** Null while it is undecided. */
  readonly decidedAt: Date | null;
  readonly refusal: Refusal | null;
  readonly requestedBy: string;
  /** The caller for the audit trail. Null in rows of ids that were aborted because they were unknown. */
  readonly actor: Actor | null;
  /** Revision that the draft of a resource alone must have; null: any. */
  readonly ifRevision: number | null;
}

/** The entities whose files must not change while the publication is undecided. */
export function sealedIds(publication: Publication): readonly string[] {
  return publication.subject === 'package'
    ? [publication.entityId, ...publication.resourceIds]
    : publication.resourceIds;
}

/**
 * Whether it makes a package visible with resources that were published earlier. These have no staged form whose readers
 * would query the publication, so they are correct only after the records service was notified.
 */
export function showsRelated({ subject, state, resourceIds, publishedIds }: Publication): boolean {
  const isShown = state === 'COMMITTED' || state === 'DONE';
  if (!isShown || subject !== 'package') return false;
  const published = new Set(publishedIds);
  return resourceIds.some((id) => !published.has(id));
}
