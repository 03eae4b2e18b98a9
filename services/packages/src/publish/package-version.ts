import {
  type FileCounts,
  type LifecycleDatabase,
  type LifecycleDeps,
  type LifecycleSql,
  lockDraft,
  NO_FILES,
  publishInTransaction,
  publishIssuesOf,
} from '@kr/draft-lifecycle';
import { type Issue, ServiceError } from '@kr/service-error';
import type { Tx } from '../store/prisma.ts';
import type { Publication } from './publication.ts';
import type { FileManifest } from './publish-saga.ts';

export interface LockedPackage {
  readonly parentId: string;
  readonly revision: number;
  /** The draft of a published version: its resources stay as they are. */
  readonly isEdit: boolean;
  /** The publication that holds it already. */
  readonly lockedBy: string | null;
}

/** The package's own side of its publication. It lives in the coordinator's database, so it needs no second phase. */
export interface PackageVersion<T = Tx> {
  /** Holds the draft for the publication, unless another does. Undefined: there is none. */
  lock(tx: T, packageId: string, publicationId: string): Promise<LockedPackage | undefined>;
  /** What is wrong with the package itself; nothing is written. */
  check(publication: Publication, manifests: readonly FileManifest[]): Promise<readonly Issue[]>;
  /** Makes the draft the published form and writes the event, in the transaction of the commit point. */
  publish(tx: T, publication: Publication, manifests: readonly FileManifest[]): Promise<void>;
  /** Gives the draft back to its editors, in the transaction of the abort. */
  unlock(tx: T, publication: Publication): Promise<void>;
}

export function packageVersion<T extends LifecycleSql>(
  database: LifecycleDatabase<T>,
  lifecycle: Pick<LifecycleDeps<T>, 'kind' | 'store' | 'oaiPrefix' | 'now'>,
): PackageVersion<T> {
  const { store } = lifecycle;
  return {
    async lock(tx, packageId, publicationId) {
      try {
        const entity = await lockDraft(lifecycle, tx, { publicationId, id: packageId });
        if (entity === undefined) return undefined;
        const { parent, published, draft } = entity;
        const isEdit = published !== null;
        return { parentId: parent.id, revision: draft.revision, isEdit, lockedBy: null };
      } catch (error) {
        if (!(error instanceof ServiceError) || error.code !== 'draft_locked') throw error;
        const entity = (await store.loadEntities(tx, [packageId])).get(packageId);
        if (entity === undefined || entity.draft === null) return undefined;
        const { parent, published, draft } = entity;
        const { revision, lockedBy } = draft;
        return { parentId: parent.id, revision, isEdit: published !== null, lockedBy };
      }
    },

    check: ({ entityId }, manifests) =>
      publishIssuesOf(lifecycle, database, entityId, countsOf(entityId, manifests)),

    async publish(tx, { id, entityId, publishedIds }, manifests) {
      await publishInTransaction(lifecycle, tx, {
        publicationId: id,
        id: entityId,
        counts: countsOf(entityId, manifests),
        recordIds: publishedIds.filter((published) => published !== entityId),
      });
    },

    unlock: (tx, { id }) => store.unlockDrafts(tx, id),
  };
}

function countsOf(entityId: string, manifests: readonly FileManifest[]): FileCounts {
  const manifest = manifests.find((one) => one.entityId === entityId);
  if (manifest === undefined) return NO_FILES;
  const { entries, pending, totalBytes, keys } = manifest;
  return { entries, pending, totalBytes: Number(totalBytes), keys };
}
