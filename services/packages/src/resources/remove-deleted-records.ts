import { type Principal, servicePrincipal } from '@kr/caller';
import type { RemoveDeletedRecordsRequest__Output, RemoveDeletedRecordsResponse } from '@kr/contracts';
import { assertService } from '@kr/draft-lifecycle';
import type { CallContext } from '@kr/rpc';
import { ServiceError } from '@kr/service-error';
import type { PackagesContext } from '../context.ts';
import { draftsWith } from '../store/resource-store.ts';
import { changeResourcesWhenUnlocked } from './change-resources.ts';

/**
 * RPC RemoveDeletedRecords.
 *
 * @throws ServiceError
 *   - `forbidden`: the caller is no service
 *   - `conflict` (`draft_locked`): a package that contains one of them was being published for longer than 3 s
 */
export function removeDeletedRecords(context: PackagesContext) {
  return async (
    { ids }: RemoveDeletedRecordsRequest__Output,
    { principal }: CallContext,
  ): Promise<RemoveDeletedRecordsResponse> => {
    assertService(principal);
    await removeFromDrafts(context, ids, servicePrincipal('packages', principal.requestId));
    return {};
  };
}

/**
 * Removes deleted resources from unpublished package versions. May be repeated.
 *
 * @throws ServiceError `conflict` when one of the packages was being published for longer than 3 s
 */
export async function removeFromDrafts(
  context: PackagesContext,
  deleted: readonly string[],
  principal: Principal,
): Promise<void> {
  if (deleted.length === 0) return;
  for (const { packageId } of await draftsWith(context.database, deleted)) {
    await ignoreMissing(() =>
      changeResourcesWhenUnlocked(context, {
        packageId,
        principal,
        run: ({ resourceIds }) => ({
          ids: resourceIds.filter((id) => !deleted.includes(id)),
          result: undefined,
        }),
      }),
    );
  }
}

/** Ignores package drafts that were deleted or published meanwhile. */
async function ignoreMissing(change: () => Promise<void>): Promise<void> {
  try {
    await change();
  } catch (error) {
    if (!(error instanceof ServiceError) || error.kind !== 'not_found') throw error;
  }
}
