import type { SetPackageResourcesRequest__Output, SetPackageResourcesResponse } from '@kr/contracts';
import { assertService, type LifecycleContext, publishChanges, transact } from '@kr/draft-lifecycle';
import type { CallContext } from '@kr/rpc';
import { replacePackageRecords } from '../store/package-relation-store.ts';
import { lockParents, type PackageAccess, takePackageAccess } from './managed-records.ts';

/** The state of one package version as received from the packages service. */
export interface PackageNews {
  packageId: string;
  revision: string | number;
  recordIds: readonly string[];
  /** The call or the event that brings them. */
  requestId: string;
  /** Records that receive the package's access; absent if the package is not restricted. */
  restriction?: PackageAccess | undefined;
  /** Whether they take it even if the list of resources is known already. */
  closesAnyway?: boolean;
}

/** RPC SetPackageResources. @throws ServiceError `forbidden` when the caller is no service */
export function setPackageResources(context: LifecycleContext) {
  return async (
    request: SetPackageResourcesRequest__Output,
    { principal }: CallContext,
  ): Promise<SetPackageResourcesResponse> => {
    assertService(principal);
    const { packageId, revision, ids, packageParentId, restrictedIds, accessJson, closesAnyway } = request;
    const restriction = restrictionOf(packageParentId, restrictedIds, accessJson);
    const { requestId } = principal;
    await writePackageNews(context, {
      packageId,
      revision,
      recordIds: ids,
      requestId,
      restriction,
      closesAnyway,
    });
    return {};
  };
}

/** By call or by event, in any order: older news changes nothing. Published records themselves stay as they are. */
export async function writePackageNews(context: LifecycleContext, news: PackageNews): Promise<void> {
  await transact(context, async (tx) => {
    // Resources before their package, as in the publication that shows both.
    if (news.restriction !== undefined) await lockParents(tx, news.restriction.ids);
    const affected = await replacePackageRecords(tx, news, context.now());
    if (affected !== undefined) await publishChanges(context, tx, affected);
    if (news.restriction !== undefined && (affected !== undefined || news.closesAnyway === true)) {
      await takePackageAccess(context, tx, news, news.restriction);
    }
  });
}

/** Access in a call or an event; undefined if absent. */
export function restrictionOf(
  packageParentId: string,
  ids: readonly string[],
  accessJson: Uint8Array,
): PackageAccess | undefined {
  if (ids.length === 0 || accessJson.length === 0) return undefined;
  return { packageParentId, ids, access: JSON.parse(Buffer.from(accessJson).toString()) };
}
