import type { OpenDraft } from '@kr/draft-lifecycle';
import { newEvent, type OutboxEvent } from '@kr/event-bus';
import { effectiveAccess } from '@kr/metadata';

/** A package version for the records service: `SetPackageResourcesRequest`. */
export interface VersionUpdate {
  packageId: string;
  packageParentId: string;
  revision: number;
  ids: string[];
  /** The package's `access`; empty unless it is restricted and the version was never published. */
  accessJson: Buffer;
  restrictionRevision: number;
}

/** Only restriction is passed on; a package that becomes public opens nothing (REST behaviour, package access). */
export function versionUpdate(
  { id, parent, draft, published }: Pick<OpenDraft, 'id' | 'parent' | 'draft' | 'published'>,
  resourceIds: readonly string[],
  now: Date,
): VersionUpdate {
  const { access } = draft.document;
  const isRestricted = published === null && effectiveAccess(access, now).record === 'restricted';
  return {
    packageId: id,
    packageParentId: parent.id,
    revision: draft.revision,
    ids: [...resourceIds],
    accessJson: isRestricted ? Buffer.from(JSON.stringify(access)) : Buffer.alloc(0),
    restrictionRevision: draft.restrictionRevision,
  };
}

/** Whether some of its resources may have to be closed. */
export function isRestricting({ ids, accessJson }: VersionUpdate): boolean {
  return ids.length > 0 && accessJson.length > 0;
}

export function resourcesChanged(update: VersionUpdate): OutboxEvent {
  const { packageId, packageParentId, revision, ids, accessJson, restrictionRevision } = update;
  return newEvent(
    'knowledge.packages.resources.changed',
    { id: packageId, parentId: packageParentId, revision, recordIds: ids, accessJson, restrictionRevision },
    { aggregateId: packageId, revision },
  );
}
