import { actorOf } from '@kr/audit-trail';
import { servicePrincipal } from '@kr/caller';
import type { Sql } from '@kr/database';
import {
  type Entity,
  type FileCounts,
  fileCounts,
  type LifecycleDeps,
  NO_FILES,
  publishInTransaction,
  relationsOf,
  validateOwnDraft,
} from '@kr/draft-lifecycle';
import type { Issue } from '@kr/service-error';
import type { Publication } from './publication.ts';
import type { FileManifest } from './publish-saga.ts';

/**
 * The draft of a package as it was read. Every change of it, including its resources, changes its revision.
 */
export interface PackageSnapshot {
  readonly parentId: string;
  readonly revision: number;
  /** The publication that has locked it. */
  readonly lockedBy: string | null;
  /**
   * The resources published with it; resources of a published version are already published and stay
   * unchanged.
   */
  readonly resourceIds: readonly string[];
}

/** The package's own side of its publication. It lives in the coordinator's database, so it needs no second phase. */
export interface PackageVersion {
  /** Undefined: there is no draft. */
  read(packageId: string): Promise<PackageSnapshot | undefined>;
  /** Problems of the package itself; nothing is written. */
  check(publication: Publication, manifests: readonly FileManifest[]): Promise<readonly Issue[]>;
  /** Makes the draft the published form and writes the event, in the transaction of the commit point. */
  publish(tx: Sql, publication: Publication, manifests: readonly FileManifest[]): Promise<void>;
  /** Unlocks the draft, in the transaction of the abort. */
  unlock(tx: Sql, publication: Publication): Promise<void>;
}

export function packageVersion(
  lifecycle: Pick<
    LifecycleDeps,
    'database' | 'kind' | 'store' | 'oaiPrefix' | 'now' | 'findDoisOfOtherKind' | 'vocabularies'
  >,
): PackageVersion {
  const { database, store } = lifecycle;
  return {
    async read(packageId) {
      const entity = (await store.loadEntities(database, [packageId], lifecycle.kind.related)).get(packageId);
      return entity === undefined ? undefined : packageSnapshot(entity);
    },

    check: ({ entityId }, manifests) =>
      validateOwnDraft(lifecycle, database, entityId, countsOf(entityId, manifests)),

    async publish(tx, { id, entityId, publishedIds, actor }, manifests) {
      await publishInTransaction(lifecycle, tx, {
        publicationId: id,
        id: entityId,
        counts: countsOf(entityId, manifests),
        recordIds: publishedIds.filter((published) => published !== entityId),
        actor: actor ?? actorOf(servicePrincipal('packages', id)),
      });
    },

    unlock: (tx, { id }) => store.unlockDrafts(tx, id),
  };
}

/** Undefined without a draft. @throws Error for an entity that was read without its relations */
export function packageSnapshot(entity: Entity): PackageSnapshot | undefined {
  const related = relationsOf(entity);
  const { parent, published, draft } = entity;
  if (draft === null) return undefined;
  const resourceIds = published === null ? related.draft : [];
  return { parentId: parent.id, revision: draft.revision, lockedBy: draft.lockedBy, resourceIds };
}

function countsOf(entityId: string, manifests: readonly FileManifest[]): FileCounts {
  const manifest = manifests.find((one) => one.entityId === entityId);
  return manifest === undefined ? NO_FILES : fileCounts(manifest);
}
