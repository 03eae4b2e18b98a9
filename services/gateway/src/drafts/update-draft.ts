import { type EntityDeps, entityReply } from '../entity-deps.ts';
import { demandedRevision } from '../http/conditional.ts';
import { type Endpoint, param } from '../http/endpoint.ts';

/** PUT /api/{kind}/{id}/draft: replaces the draft's content; If-Match is honoured. */
export function updateDraft(deps: EntityDeps): Endpoint {
  return async (call) => {
    const { document } = await deps.clients.lifecycle[deps.kind].updateDraft(
      {
        id: param(call, 'id'),
        ifRevision: demandedRevision(call.headers['if-match']),
        body: call.rawBody,
      },
      call.principal,
    );
    return entityReply(200, document, deps, call);
  };
}
