import { type EntityDeps, entityReply } from '../entity-deps.ts';
import { type Endpoint, param } from '../http/endpoint.ts';

/** GET /api/{kind}/{id}/versions/latest: the latest published version, whichever version the id names. */
export function readLatest(deps: EntityDeps): Endpoint {
  return async (call) => {
    const { document } = await deps.clients.lifecycle[deps.kind].readLatest(
      { id: param(call, 'id') },
      call.principal,
      { signal: call.signal },
    );
    return entityReply(200, document, deps, call);
  };
}
