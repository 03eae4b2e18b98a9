import type { DeleteDraftRequest__Output, DeleteDraftResponse } from '@kr/contracts';
import { loadEntities } from '@kr/draft-lifecycle';
import type { CallContext } from '@kr/rpc';
import type { RecordsContext } from '../context.ts';
import { RELATED } from '../store/package-relation-store.ts';

type DeleteDraft = (request: DeleteDraftRequest__Output, call: CallContext) => Promise<DeleteDraftResponse>;

/**
 * RPC DeleteDraft of resources: the lifecycle's own, and then a resource that is gone leaves the package drafts that
 * held it. If the packages service is not reached, the event of the deletion has the same effect.
 *
 * @throws ServiceError as the lifecycle's
 */
export function deleteDraft(
  { database, forgetInPackages, logger }: RecordsContext,
  ofLifecycle: DeleteDraft,
): DeleteDraft {
  return async (request, call) => {
    const { id } = request;
    const before = (await loadEntities(database, [id], RELATED)).get(id);
    const reply = await ofLifecycle(request, call);
    if ((before?.related?.draft ?? []).length === 0) return reply;
    try {
      const left = await loadEntities(database, [id]);
      if (!left.has(id)) await forgetInPackages([id], call.principal.requestId);
    } catch (cause) {
      logger.warn({ err: cause, id }, 'its packages are notified later');
    }
    return reply;
  };
}
