import type { Sql } from '@kr/database';
import { newEvent, type OutboxEvent } from '@kr/event-bus';
import type { OpenDraft } from './entity.ts';

/** An entity that a publication has just made visible. */
export interface PublishedEntity {
  id: string;
  parentId: string;
  revision: number;
  /** The version below it, which was the latest until then. */
  formerLatestId?: string | null;
}

/** The content of a publication. */
export interface Publication {
  id: string;
  /** The package; empty for a resource alone. */
  packageId: string;
  /** The resources published with the package; only set for the package's service. */
  recordIds: readonly string[];
}

/** A draft that was discarded. */
export interface DiscardedDraft {
  id: string;
  parentId: string;
  revision: number;
  /** True when a published form remains. */
  isPublished: boolean;
  /** True when nothing is left of the parent either. */
  isParentGone: boolean;
  /** The package versions that contained it. */
  packageIds: readonly string[];
}

/** A draft that was created or changed, its new change number included. */
export interface SavedDraft {
  id: string;
  parentId: string;
  revision: number;
}

/** The specific part of one kind of entity. `Sql` is the service's transaction client. */
export interface EntityKind {
  name: 'record' | 'package';
  /** `parent.type` in the public document. */
  parentType: 'resource' | 'package';
  /** Metadata that a new version does not take over. */
  fieldsResetOnNewVersion: readonly string[];
  /** `is_published` on the draft of a published entity: REST document, section 3, differs by kind. */
  isEditDraftPublished: boolean;
  /** Whether `parent.relationship` is shown. */
  showsManagement: boolean;
  /** The key of `relationship` whose value `related` selects. */
  relationKey: 'packages' | 'resources';
  /** Parts of the document that follow `relationship`. */
  extraFields: Readonly<Record<string, unknown>>;

  /**
   * SQL that gives, in one row, the ids of `relationship` of the version `v.id`, in their order, as two arrays of text:
   * `of_draft` and `of_published`; null where there are none. Reads take them along with the entity.
   */
  related: string;

  /** The events of the kind, for the outbox. */
  events: {
    draftSaved(draft: SavedDraft): OutboxEvent;
    /** Further events of an update of a draft, which is passed as it is afterwards. */
    draftUpdated?(draft: OpenDraft, now: Date): readonly OutboxEvent[];
    draftDeleted(draft: DiscardedDraft): OutboxEvent;
    published(entity: PublishedEntity, publication: Publication): OutboxEvent;
    changed(entity: SavedDraft): OutboxEvent;
    /** The files of a removed entity are to be deleted. */
    purged(entity: SavedDraft): OutboxEvent;
  };

  /** Called inside the transaction of the change, after it. */
  hooks: {
    /** Returns the package versions that contained it, for the event. */
    draftDeleted?(tx: Sql, draft: Pick<DiscardedDraft, 'id' | 'isPublished'>): Promise<readonly string[]>;
    /** Called once for each publication, with all entities that it made visible here. */
    published?(tx: Sql, entities: readonly PublishedEntity[], publication: Publication): Promise<void>;
  };
}

const SUBJECTS = {
  record: {
    saved: 'knowledge.records.draft.saved',
    deleted: 'knowledge.records.draft.deleted',
    changed: 'knowledge.records.record.changed',
    purged: 'knowledge.records.record.purged',
  },
  package: {
    saved: 'knowledge.packages.draft.saved',
    deleted: 'knowledge.packages.draft.deleted',
    changed: 'knowledge.packages.package.changed',
    purged: 'knowledge.packages.package.purged',
  },
} as const;

/** The events that are alike for both kinds. */
export function entityEvents(
  name: EntityKind['name'],
): Pick<EntityKind['events'], 'draftSaved' | 'draftDeleted' | 'changed' | 'purged'> {
  const { saved, deleted, changed, purged } = SUBJECTS[name];
  const stateEvent =
    (subject: typeof saved | typeof changed | typeof purged) =>
    ({ id, parentId, revision }: SavedDraft) =>
      newEvent(subject, { id, parentId, revision }, { aggregateId: id, revision });
  return {
    draftSaved: stateEvent(saved),
    draftDeleted: ({ id, parentId, revision, isPublished, packageIds }) =>
      newEvent(
        deleted,
        { id, parentId, revision, isPublished, packageIds: [...packageIds] },
        { aggregateId: id, revision },
      ),
    changed: stateEvent(changed),
    purged: stateEvent(purged),
  };
}
