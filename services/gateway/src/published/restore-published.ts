import { type EntityDeps, entityReply } from '../entity-deps.ts';
import { type Endpoint, param } from '../http/endpoint.ts';

/** POST /api/{kind}/{id}/restore: an administrator undoes a removal; 200 with the published entity. */
export function restorePublished(deps: EntityDeps): Endpoint {
  return async (call) => {
    const { document } = await deps.clients.lifecycle[deps.kind].restorePublished(
      { id: param(call, 'id') },
      call.principal,
    );
    return entityReply(200, document, deps, call);
  };
}
