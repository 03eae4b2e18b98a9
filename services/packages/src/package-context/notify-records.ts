import { servicePrincipal } from '@kr/caller';
import type { definitions } from '@kr/contracts';
import {
  type DiscardedDraft,
  type LifecycleContext,
  type LifecycleDeps,
  loadEntities,
  type OpenDraft,
  relationsOf,
} from '@kr/draft-lifecycle';
import type { Client } from '@kr/rpc';
import type { Observations } from '../observations.ts';
import { isRestricting, versionUpdate } from '../resources/version-update.ts';

type Records = Client<typeof definitions.records>;

/** Calls of the records service after changes of a package. */
export function recordsSide(
  records: Records,
  observed: Observations,
  now: () => Date,
): Required<Pick<LifecycleDeps, 'afterUpdate' | 'afterDelete' | 'furtherTrails'>> {
  return {
    /** @throws ServiceError if drafts of a restricted package may still be public; the event restricts them later */
    afterUpdate: (draft, requestId) => restrictResources(records, draft, now(), requestId),

    /** Resources of a deleted version no longer name it; those of a deleted package become unmanaged. */
    async afterDelete({ id, parentId, revision, isPublished, isParentGone }: DiscardedDraft, requestId) {
      if (isPublished) return;
      const self = servicePrincipal('packages', requestId);
      try {
        await records.setPackageResources({ packageId: id, revision, ids: [] }, self);
        if (!isParentGone) return;
        const { ids } = await records.listManagedRecords({ packageParentId: parentId }, self);
        const managed = { packageParentId: parentId, packageId: id, ids };
        if (ids.length > 0) await records.dissociateRecords(managed, self);
      } catch (cause) {
        // The event of the deletion has the same effect.
        observed.mirrorDeferred(id, cause);
      }
    },

    /** @throws ServiceError `unavailable`: the records service cannot be reached */
    async furtherTrails(packageParentId, limit, requestId) {
      const self = servicePrincipal('packages', requestId);
      const { trail } = await records.readPackageTrail({ packageParentId, limit }, self);
      return trail === null ? [] : [trail];
    },
  };
}

/**
 * Restricts the drafts of a restricted package that its last update did not reach. Call it while the package is locked. Drafts
 * that were made public after that update stay public.
 *
 * @throws ServiceError - `unavailable`: the records service cannot be reached - `conflict` (`draft_locked`): one of
 * the drafts is being published
 */
export async function restrictManagedDrafts(
  {
    database,
    kind,
    records,
    now,
  }: Pick<LifecycleContext, 'database' | 'kind' | 'now'> & { records: Records },
  packageId: string,
  requestId: string,
  timeoutMs: number,
): Promise<void> {
  const entity = (await loadEntities(database, [packageId], kind.related)).get(packageId);
  if (entity?.draft == null) return;
  await restrictResources(records, { ...entity, draft: entity.draft }, now(), requestId, { timeoutMs });
}

async function restrictResources(
  records: Records,
  draft: OpenDraft,
  now: Date,
  requestId: string,
  options?: { timeoutMs: number },
): Promise<void> {
  const update = versionUpdate(draft, relationsOf(draft).draft, now);
  if (isRestricting(update))
    await records.setPackageResources(update, servicePrincipal('packages', requestId), options);
}
