import { type Principal, servicePrincipal } from '@kr/caller';
import type { DeleteDraftRequest__Output, DeleteDraftResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import type { PackagesContext } from '../context.ts';

type DeleteDraft = (request: DeleteDraftRequest__Output, call: CallContext) => Promise<DeleteDraftResponse>;

/**
 * RPC DeleteDraft of packages: as the lifecycle's, then cleans the other side of the relations: resources of
 * a deleted version no longer name it, and resources of a deleted package become unmanaged. If the records
 * service cannot be reached, the event of the deletion has the same effect.
 *
 * @throws ServiceError as the lifecycle's
 */
export function deleteDraft(context: PackagesContext, ofLifecycle: DeleteDraft): DeleteDraft {
  const { database, records, observed } = context;
  return async (request, call) => {
    const before = await database.draft.findUnique({
      where: { id: request.id },
      include: { version: true },
    });
    const reply = await ofLifecycle(request, call);
    if (before === null || before.version.visible) return reply;
    const self = servicePrincipal('packages', call.principal.requestId);
    try {
      await records.setPackageResources(
        { packageId: before.id, revision: Number(before.revision) + 1, ids: [] },
        self,
      );
      const { parentId } = before.version;
      const rest = await database.version.findFirst({ where: { parentId }, select: { id: true } });
      if (rest === null)
        await releaseManaged(records, { packageParentId: parentId, packageId: before.id }, self);
    } catch (cause) {
      observed.mirrorDelayed(before.id, cause);
    }
    return reply;
  };
}

async function releaseManaged(
  records: PackagesContext['records'],
  { packageParentId, packageId }: { packageParentId: string; packageId: string },
  self: Principal,
): Promise<void> {
  const { ids } = await records.listManagedRecords({ packageParentId }, self);
  if (ids.length > 0) await records.dissociateRecords({ packageParentId, packageId, ids }, self);
}
