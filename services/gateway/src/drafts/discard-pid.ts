import { type EntityDeps, entityReply } from '../entity-deps.ts';
import { demandedRevision } from '../http/conditional.ts';
import { type Endpoint, param } from '../http/endpoint.ts';

/** DELETE /api/{kind}/{id}/draft/pids/{scheme}: 200 with the draft that no longer has that identifier. */
export function discardPid(deps: EntityDeps): Endpoint {
  return async (call) => {
    const { document } = await deps.clients.lifecycle[deps.kind].discardPid(
      {
        id: param(call, 'id'),
        scheme: param(call, 'scheme'),
        ifRevision: demandedRevision(call.headers['if-match']),
      },
      call.principal,
    );
    return entityReply(200, document, deps, call);
  };
}
