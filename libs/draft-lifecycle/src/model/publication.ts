import type { Issue } from '@kr/service-error';
import type { Entity, Parent, PublishedForm } from './entity.ts';

/** A request to publish: the package's resources, or a resource alone. */
export interface PublicationRequest {
  publicationId: string;
  /** Empty when a resource is published alone. */
  packageParentId: string;
  ids: readonly string[];
}

/** The data of an entity that a publication needs. */
export interface Candidate extends Pick<Entity, 'id' | 'draft' | 'nextDraftRevision'> {
  readonly parent: Pick<Parent, 'managedBy'>;
  readonly published: Pick<PublishedForm, 'revision' | 'removal'> | null;
}

/** A candidate with a draft. */
export type Publishable = Candidate & { draft: NonNullable<Entity['draft']> };

/** The role of each entity, before its content is validated. */
export interface PublicationPlan {
  /** Drafts that will be published. */
  drafts: Publishable[];
  /** Published already: they stay as they are, and so do their edit drafts. */
  unchangedIds: string[];
  issues: Issue[];
  /** The other publication that locks one of the drafts. */
  blockedBy: string | null;
}

/** Sorts the entities of a request (REST document, section 3; a draft goes with the package that manages it only). */
export function planPublication(
  { publicationId, packageParentId, ids }: PublicationRequest,
  entities: ReadonlyMap<string, Candidate>,
): PublicationPlan {
  const plan: PublicationPlan = { drafts: [], unchangedIds: [], issues: [], blockedBy: null };
  for (const id of new Set(ids)) {
    const entity = entities.get(id);
    if (entity === undefined) {
      plan.issues.push(problem(id, 'id', 'The persistent identifier does not exist.'));
    } else if (packageParentId !== '' && entity.published !== null) {
      plan.unchangedIds.push(id);
    } else if (entity.draft === null) {
      plan.issues.push(problem(id, 'id', 'Not found.'));
    } else if (entity.draft.lockedBy !== null && entity.draft.lockedBy !== publicationId) {
      plan.blockedBy = entity.draft.lockedBy;
    } else if (packageParentId !== '' && entity.parent.managedBy !== packageParentId) {
      const message = "This record is a draft and can't be linked to the package as a resource.";
      plan.issues.push(problem(id, 'parent.relationship.managed_by', message));
    } else {
      plan.drafts.push({ ...entity, draft: entity.draft });
    }
  }
  return plan;
}

function problem(record: string, field: string, message: string): Issue {
  return { record, field, messages: [message] };
}

/** State of a participant in a publication; makes repeated and late calls harmless. */
export type ParticipationState = 'prepared' | 'refused' | 'aborted' | 'applied';

export interface Participation {
  state: ParticipationState;
  epoch: number;
}

/** Reaction to a request to prepare. */
export type PrepareVerdict = 'prepare' | 'yes' | 'no';

/**
 * A refusal applies to its epoch only; an earlier abort rejects a late prepare permanently. An agreement
 * stays valid, because the parts of a publication are prepared one after the other.
 *
 * @param isAgreed whether all requested drafts were agreed to
 */
export function onPrepare(
  participation: Participation | null,
  epoch: number,
  isAgreed: boolean,
): PrepareVerdict {
  if (participation === null) return 'prepare';
  switch (participation.state) {
    case 'prepared':
      return isAgreed ? 'yes' : 'prepare';
    case 'applied':
      return 'yes';
    case 'refused':
      return epoch > participation.epoch ? 'prepare' : 'no';
    case 'aborted':
      return 'no';
  }
}

/**
 * Reaction to a decision. `contradiction`: a broken protocol, or a database restored from the past. A commit without a known
 * vote is one, because the staged forms are missing; the files service can still make the files immutable and adopts it.
 */
export type DecisionVerdict = 'apply' | 'undo' | 'done' | 'contradiction';

export function onDecision(participation: Participation | null, isCommitted: boolean): DecisionVerdict {
  if (isCommitted) {
    if (participation?.state === 'prepared') return 'apply';
    return participation?.state === 'applied' ? 'done' : 'contradiction';
  }
  if (participation?.state === 'applied') return 'contradiction';
  return participation?.state === 'aborted' ? 'done' : 'undo';
}
