import { type EntityDeps, entityReply } from '../entity-deps.ts';
import { demandedRevision } from '../http/conditional.ts';
import { type Endpoint, param } from '../http/endpoint.ts';

/** POST /api/{kind}/{id}/versions: 201 with the draft of the next version, the open one if there is one. */
export function createVersion(deps: EntityDeps): Endpoint {
  return async (call) => {
    const { document } = await deps.clients.lifecycle[deps.kind].createVersion(
      { id: param(call, 'id'), ifRevision: demandedRevision(call.headers['if-match']) },
      call.principal,
    );
    return entityReply(201, document, deps, call);
  };
}
