import { type EntityDeps, entityReply } from '../entity-deps.ts';
import { demandedRevision } from '../http/conditional.ts';
import { type Endpoint, param } from '../http/endpoint.ts';

/** POST /api/{kind}/{id}/draft/pids/{scheme}: 201 with the draft that now has an identifier of this scheme. */
export function reservePid(deps: EntityDeps): Endpoint {
  return async (call) => {
    const { document } = await deps.clients.lifecycle[deps.kind].reservePid(
      {
        id: param(call, 'id'),
        scheme: param(call, 'scheme'),
        ifRevision: demandedRevision(call.headers['if-match']),
      },
      call.principal,
    );
    return entityReply(201, document, deps, call);
  };
}
