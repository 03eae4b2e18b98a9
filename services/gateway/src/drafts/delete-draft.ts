import type { EntityDeps } from '../entity-deps.ts';
import { type Endpoint, noContent } from '../http/endpoint.ts';
import { draftToChange } from './draft-to-change.ts';

/** DELETE /api/{kind}/{id}/draft: discards the draft; If-Match and If-None-Match are honoured. */
export function deleteDraft(deps: EntityDeps): Endpoint {
  return async (call) => {
    await deps.clients.lifecycle[deps.kind].deleteDraft(await draftToChange(deps, call), call.principal);
    return noContent();
  };
}
