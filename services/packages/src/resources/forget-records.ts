import { type Principal, servicePrincipal } from '@kr/caller';
import type { ForgetRecordsRequest__Output, ForgetRecordsResponse } from '@kr/contracts';
import { assertService } from '@kr/draft-lifecycle';
import type { CallContext } from '@kr/rpc';
import { ServiceError } from '@kr/service-error';
import type { PackagesContext } from '../context.ts';
import { draftsHolding } from '../store/resource-store.ts';
import { changeResourcesWhenUnlocked } from './change-resources.ts';

/**
 * RPC ForgetRecords.
 *
 * @throws ServiceError
 *   - `forbidden`: the caller is no service
 *   - `conflict` (`draft_locked`): a package that holds one of them was being published for longer than 3 s
 */
export function forgetRecords(context: PackagesContext) {
  return async (
    { ids }: ForgetRecordsRequest__Output,
    { principal }: CallContext,
  ): Promise<ForgetRecordsResponse> => {
    assertService(principal);
    await removeFromDrafts(context, ids, servicePrincipal('packages', principal.requestId));
    return {};
  };
}

/**
 * Takes resources that are gone out of the package versions not yet published. Repeats find nothing to do.
 *
 * @throws ServiceError `conflict` when one of the packages was being published for longer than 3 s
 */
export async function removeFromDrafts(
  context: PackagesContext,
  gone: readonly string[],
  principal: Principal,
): Promise<void> {
  if (gone.length === 0) return;
  for (const { packageId } of await draftsHolding(context.database, gone)) {
    await unlessGone(() =>
      changeResourcesWhenUnlocked(context, {
        packageId,
        principal,
        run: ({ resourceIds }) => ({
          ids: resourceIds.filter((id) => !gone.includes(id)),
          result: undefined,
        }),
      }),
    );
  }
}

/** A package draft that was deleted or published meanwhile is no concern any more. */
async function unlessGone(change: () => Promise<void>): Promise<void> {
  try {
    await change();
  } catch (error) {
    if (!(error instanceof ServiceError) || error.kind !== 'not_found') throw error;
  }
}
