import type { UpdateDraftRequest__Output, UpdateDraftResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import { ServiceError } from '@kr/service-error';
import type { PackagesContext } from '../context.ts';
import { addPendingRestriction, removePendingRestrictions } from '../store/restriction-store.ts';
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
    const { database } = context.lifecycle;
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
