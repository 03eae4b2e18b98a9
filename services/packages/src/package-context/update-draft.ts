import type { UpdateDraftRequest__Output, UpdateDraftResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import type { PackagesContext } from '../context.ts';
import { tellRecords } from '../resources/tell-records.ts';
import { restrictedVersions } from './restricted-versions.ts';

type UpdateDraft = (request: UpdateDraftRequest__Output, call: CallContext) => Promise<UpdateDraftResponse>;

/**
 * RPC UpdateDraft of packages: the lifecycle's own, and then a restricted package closes the drafts it manages.
 *
 * @throws ServiceError as the lifecycle's; besides, when the draft is saved and the drafts it manages are not closed yet
 *   - `unavailable`: the records service was not reached; the same call again tells it again
 *   - `conflict` (`draft_locked`): one of those drafts is being published
 */
export function updateDraft(context: PackagesContext, ofLifecycle: UpdateDraft): UpdateDraft {
  return async (request, call) => {
    const reply = await ofLifecycle(request, call);
    for (const news of await restrictedVersions(context, [request.id])) {
      await tellRecords(context, news, call.principal.requestId);
    }
    return reply;
  };
}
