export type { Decision, LifecycleDeps } from './context/context.ts';
export {
  assertRevision,
  findEntities,
  getEntity,
  type LifecycleContext,
  notFound,
  notFoundErrors,
  notRegistered,
  transact,
  unknownId,
} from './context/context.ts';
export type { OwnerLimits } from './context/owner-limits.ts';
export { type Repeated, repeatedly } from './context/repeatedly.ts';
export { appendChangedEvents, bumpRevisions } from './events/revisions.ts';
export {
  LIFECYCLE_CALLERS,
  type LifecycleHandlers,
  lifecycleContext,
  lifecycleHandlers,
  type OpenLifecycle,
  openLifecycle,
  peer,
  startLifecycleConsumers,
} from './lifecycle.ts';

export { assertAllowedOn, assertService, assertUnlocked, draftLocked, isAllowedOn } from './model/access.ts';
export type {
  DraftForm,
  Entity,
  EntityForm,
  EntityRef,
  Form,
  OpenDraft,
  Parent,
  StoredDocument,
  StoredFiles,
  StoredPid,
} from './model/entity.ts';
export { newDraft, type Removal, relationsOf, removedError } from './model/entity.ts';
export { type FileCounts, fileCounts, NO_FILES } from './model/files.ts';
export { isEntityId, newEntityId } from './model/ids.ts';
export {
  type DiscardedDraft,
  type EntityKind,
  entityEvents,
  type Publication,
  type PublishedEntity,
  type SavedDraft,
} from './model/kind.ts';
export type { Candidate } from './model/publication.ts';
export { changeDraft, draftForChange } from './operations/change-draft.ts';
export { type PublicVersion, readPublic } from './operations/read-entities.ts';
export { purgeRemoved, startPurging } from './operations/removal.ts';
export { applyDecisionToRecords } from './publication/decisions.ts';
export {
  type OwnPublication,
  publishInTransaction,
  validateOwnDraft,
} from './publication/own-publication.ts';
export { preparePublication } from './publication/prepare.ts';
export {
  observeLocks,
  resolveOldLocks,
  startStaleLockScanner,
} from './publication/stale-locks.ts';
export { validatePublication } from './publication/validate.ts';
export type { ChangeLog } from './store/drafts.ts';
export {
  assertParentsUnlocked,
  findPreviousVersion,
  listVersionIds,
  loadEntities,
} from './store/entities.ts';
export type { LifecycleStore } from './store/lifecycle-store.ts';
export { MIGRATIONS, sqlLifecycleStore } from './store/lifecycle-store.ts';
export type { StoredParticipation } from './store/staging.ts';
export { lockUnchanged, type StagedForm } from './store/staging.ts';
