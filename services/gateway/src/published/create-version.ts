import { type EntityDeps, entityReply, revisionToChange } from '../entity-deps.ts';
import { type Endpoint, param } from '../http/endpoint.ts';

/** POST /api/{kind}/{id}/versions: 201 with the draft of the next version, the open one if there is one. */
export function createVersion(deps: EntityDeps): Endpoint {
  return async (call) => {
    const id = param(call, 'id');
    const ifRevision = await revisionToChange(deps, id, 'FORM_PUBLISHED', call);
    const { document } = await deps.clients.lifecycle[deps.kind].createVersion(
      { id, ifRevision },
      call.principal,
    );
    return entityReply(201, document, deps, call);
  };
}
