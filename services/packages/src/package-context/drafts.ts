import { type Principal, servicePrincipal } from '@kr/caller';
import type {
  DeleteDraftRequest__Output,
  DeleteDraftResponse,
  UpdateDraftRequest__Output,
  UpdateDraftResponse,
} from '@kr/contracts';
import { loadEntities } from '@kr/draft-lifecycle';
import type { CallContext } from '@kr/rpc';
import { ServiceError } from '@kr/service-error';
import type { PackagesContext } from '../context.ts';
import { addPendingRestriction, removePendingRestrictions } from '../store/context-store.ts';
import { ownerOf } from '../store/resource-store.ts';
import { closeManagedDrafts } from './close-managed-drafts.ts';

type UpdateDraft = (request: UpdateDraftRequest__Output, call: CallContext) => Promise<UpdateDraftResponse>;

/**
 * RPC UpdateDraft of packages: the lifecycle's own, and then a restricted package closes the drafts it manages. That it has to
 * is stored before the save, so that neither a lost call nor a crash leaves one open when the package is published.
 *
 * @throws ServiceError as the lifecycle's; besides, when the draft is saved and the drafts it manages are not closed yet,
 *   those of `closeManagedDrafts`
 */
export function updateDraft(context: PackagesContext, ofLifecycle: UpdateDraft): UpdateDraft {
  return async (request, call) => {
    if (!mayRestrict(request.body)) return ofLifecycle(request, call);
    const { database } = context;
    const attempt = await addPendingRestriction(database, request.id);
    const reply = await ofLifecycle(request, call).catch(async (thrown: unknown) => {
      const { kind } = ServiceError.from(thrown);
      // After these it is not known whether the draft was saved.
      if (kind !== 'internal' && kind !== 'unavailable') await removePendingRestrictions(database, [attempt]);
      throw thrown;
    });
    const ended = { packageId: request.id, attempt, isOver: true };
    await closeManagedDrafts(context, [request.id], call.principal.requestId, ended);
    return reply;
  };
}

/** Whether the body may contain `access.record: restricted`. JSON escapes begin with a backslash. */
function mayRestrict(body: Uint8Array): boolean {
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  return text.includes('restricted') || text.includes('\\u');
}

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
    const before = (await loadEntities(database, [request.id])).get(request.id);
    const reply = await ofLifecycle(request, call);
    if (before?.draft == null || before.published !== null) return reply;
    const self = servicePrincipal('packages', call.principal.requestId);
    try {
      await records.setPackageResources(
        { packageId: before.id, revision: before.draft.revision + 1, ids: [] },
        self,
      );
      const parentId = before.parent.id;
      if ((await ownerOf(database, parentId)) === undefined)
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
