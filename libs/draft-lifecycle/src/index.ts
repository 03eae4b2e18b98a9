export { assertParentsUnlocked } from './assert-parents-unlocked.ts';
export { changeDraft, type DraftChange, draftForChange } from './change-draft.ts';
export { decidePublication } from './decide-publication.ts';
export type { Told } from './draft-store.ts';
export type { DraftFace, Entity, EntityRef, Face, Form, Parent } from './entity.ts';
export type {
  DiscardedDraft,
  EntityKind,
  Publication,
  PublishedEntity,
  SavedDraft,
} from './entity-kind.ts';
export { loadEntities } from './entity-store.ts';
export {
  followLinks,
  LINK_SUBJECTS,
  type LinkEvent,
  type ListParentLinks,
  restoreLinks,
} from './follow-links.ts';
export { FILE_DELETED_SUBJECTS, forgetDeletedFiles, forgetLostFiles } from './forget-deleted-files.ts';
export { isEntityId } from './id-rules.ts';
export { type LifecycleHandlers, lifecycleContext, lifecycleHandlers } from './lifecycle.ts';
export { LIFECYCLE_CALLERS } from './lifecycle-callers.ts';
export { assertRevision, findEntities, getEntity, type LifecycleContext } from './lifecycle-context.ts';
export { type Decision, type FileCounts, type LifecycleDeps, NO_FILES } from './lifecycle-deps.ts';
export type { LifecycleStore } from './lifecycle-store.ts';
export { assertUnlocked, draftLocked } from './lock-rules.ts';
export { MIGRATIONS } from './migrations.ts';
export { notFound, notRegistered, unknownId, whyMissing } from './missing-entity.ts';
export { newEntityId } from './new-entity-id.ts';
export { observeLocks } from './observe-locks.ts';
export { type OwnPublication, publishInTransaction, publishIssuesOf } from './own-publication.ts';
export type { OwnerLimits } from './owner-limits.ts';
export type { Participant } from './participant-store.ts';
export { assertService, may, permit } from './permission.ts';
export { preparePublication } from './prepare-publication.ts';
export type { Candidate } from './publication-rules.ts';
export { purgeRemoved, startPurging } from './purge-removed.ts';
export { type Removal, removedError } from './removal.ts';
export { sqlLifecycleStore } from './sql-lifecycle-store.ts';
export { lockUnchanged, type StagedForm } from './staging-store.ts';
export { type Janitor, type JanitorOptions, settleOldLocks, startJanitor } from './start-janitor.ts';
export type { StoredDocument, StoredFiles, StoredPid } from './stored-document.ts';
export { tellChanged } from './tell-changed.ts';
export { touchParents } from './touch-parents.ts';
export { transact } from './transact.ts';
export { validatePublication } from './validate-publication.ts';
