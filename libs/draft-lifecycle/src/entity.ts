import type { Issue } from '@kr/service-error';
import type { Removal } from './removal.ts';
import type { StoredDocument } from './stored-document.ts';

/** Which face of an entity is meant. */
export type Form = 'draft' | 'published';

export interface EntityRef {
  id: string;
  form: Form;
}

/** State shared by all versions of an entity. */
export interface Parent {
  id: string;
  ownerId: string;
  /** The parent of the package whose context holds this resource; null if none. */
  managedBy: string | null;
  wasManaged: boolean;
  linkIds: readonly string[];
}

/** One form of an entity: its content and when it changed. */
export interface Face {
  document: StoredDocument;
  revision: number;
  createdAt: Date;
  updatedAt: Date;
}

export interface PublishedFace extends Face {
  /** Set while it is removed: only administrators see anything but the tombstone. */
  removal?: Removal;
}

export interface DraftFace extends Face {
  issues: readonly Issue[];
  /** The publication that holds it; null while it may be changed. */
  lockedBy: string | null;
}

/** An entity id with everything a decision or a rendering needs, as one query reads it. */
export interface Entity {
  id: string;
  versionIndex: number;
  parent: Parent;
  published: PublishedFace | null;
  draft: DraftFace | null;
  /** Publications that staged a form of this entity or of another version of its parent. */
  pending: readonly string[];
  /** The highest published version index of the parent; 0 if none. */
  latestIndex: number;
  /** The highest version index of the parent, drafts included. */
  lastIndex: number;
  /** The lowest change number the next draft may have. */
  nextDraftRevision: number;
  /** The ids of `relationship` for each form; absent if not loaded. */
  related?: Readonly<Record<Form, readonly string[]>>;
}
