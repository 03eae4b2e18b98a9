import type { SetPackageResourcesRequest__Output, SetPackageResourcesResponse } from '@kr/contracts';
import { appendChangedEvents, assertService, type LifecycleContext, transact } from '@kr/draft-lifecycle';
import type { CallContext } from '@kr/rpc';
import {
  recordsToRestrict,
  replacePackageRecords,
  storeRestriction,
} from '../store/package-relation-store.ts';
import { applyPackageAccess, lockManagedDrafts } from './managed-records.ts';

/** The state of one package version as received from the packages service, by call or by event. */
export interface PackageUpdate {
  packageId: string;
  revision: string | number;
  recordIds: readonly string[];
  /** Id of the call or the event. */
  requestId: string;
  /** Absent if the package is not restricted. */
  restriction?: Restriction | undefined;
}

/** The access that a restricted package imposes on the resources it manages (REST behaviour of `access`, packages). */
export interface Restriction {
  packageParentId: string;
  /** The package's `access` as it is stored. */
  access: object;
  /** Change number of the last update that restricted the package: it is applied to all resources once. */
  revision: number;
}

/** RPC SetPackageResources. @throws ServiceError `forbidden` when the caller is no service */
export function setPackageResources(context: LifecycleContext) {
  return async (
    { packageId, revision, ids, ...restriction }: SetPackageResourcesRequest__Output,
    { principal }: CallContext,
  ): Promise<SetPackageResourcesResponse> => {
    assertService(principal);
    const { requestId } = principal;
    await applyPackageUpdate(context, {
      packageId,
      revision,
      recordIds: ids,
      requestId,
      restriction: restrictionOf(restriction),
    });
    return {};
  };
}

/**
 * Updates may arrive in any order and more than once: an older list or restriction changes nothing. Published records
 * themselves stay as they are.
 *
 * @throws ServiceError `conflict` (`draft_locked`): one of the records to be restricted is being published
 */
export async function applyPackageUpdate(context: LifecycleContext, update: PackageUpdate): Promise<void> {
  const { packageId, recordIds, restriction } = update;
  await transact(context, async (tx) => {
    if (restriction !== undefined) {
      // Resources before their package, in the order of a publication.
      const ids = await recordsToRestrict(tx, update, restriction.revision);
      await lockManagedDrafts(tx, restriction.packageParentId, ids);
    }
    const changed = await replacePackageRecords(tx, update, context.now());
    if (changed !== undefined) await appendChangedEvents(context, tx, [...changed.added, ...changed.removed]);
    if (restriction === undefined) return;
    const isNew = await storeRestriction(tx, packageId, restriction.revision);
    const ids = isNew ? recordIds : (changed?.added ?? []);
    await applyPackageAccess(context, tx, update, { ...restriction, ids });
  });
}

/** The restriction in a call or an event; undefined if the package is not restricted. */
export function restrictionOf({
  packageParentId,
  accessJson,
  restrictionRevision,
}: Pick<SetPackageResourcesRequest__Output, 'packageParentId' | 'accessJson' | 'restrictionRevision'>):
  | Restriction
  | undefined {
  if (accessJson.length === 0) return undefined;
  const access: object = JSON.parse(Buffer.from(accessJson).toString());
  return { packageParentId, access, revision: Number(restrictionRevision) };
}
