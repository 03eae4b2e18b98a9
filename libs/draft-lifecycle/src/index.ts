export type { DraftFace, Entity, EntityRef, Face, Form, Parent } from './entity.ts';
export type {
  DiscardedDraft,
  EntityKind,
  Publication,
  PublishedEntity,
  SavedDraft,
} from './entity-kind.ts';
export { type Decision, type FileCounts, type LifecycleDeps, NO_FILES } from './lifecycle-deps.ts';
export type { LifecycleDatabase, LifecycleSql } from './lifecycle-sql.ts';
export { MIGRATIONS } from './migrations.ts';
export type { StoredDocument, StoredFiles, StoredPid } from './stored-document.ts';
