import { type EntityDeps, entityReply } from '../entity-deps.ts';
import type { Endpoint } from '../http/endpoint.ts';
import { draftToChange } from './draft-to-change.ts';

/** PUT /api/{kind}/{id}/draft: replaces the draft's content; If-Match and If-None-Match are honoured. */
export function updateDraft(deps: EntityDeps): Endpoint {
  return async (call) => {
    const { document } = await deps.clients.lifecycle[deps.kind].updateDraft(
      { ...(await draftToChange(deps, call)), body: call.rawBody },
      call.principal,
    );
    return entityReply(200, document, deps, call);
  };
}
