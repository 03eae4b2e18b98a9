import { type EntityDeps, entityReply } from '../entity-deps.ts';
import { type Endpoint, param } from '../http/endpoint.ts';
import { draftToChange } from './draft-to-change.ts';

/** POST /api/{kind}/{id}/draft/pids/{scheme}: 201 with the draft that now has an identifier of this scheme. */
export function reservePid(deps: EntityDeps): Endpoint {
  return async (call) => {
    const { document } = await deps.clients.lifecycle[deps.kind].reservePid(
      { ...(await draftToChange(deps, call)), scheme: param(call, 'scheme') },
      call.principal,
    );
    return entityReply(201, document, deps, call);
  };
}
