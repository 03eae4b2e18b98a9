import { type EntityDeps, entityReply } from '../entity-deps.ts';
import { type Endpoint, param } from '../http/endpoint.ts';
import { draftToChange } from './draft-to-change.ts';

/** DELETE /api/{kind}/{id}/draft/pids/{scheme}: 200 with the draft that no longer has that identifier. */
export function discardPid(deps: EntityDeps): Endpoint {
  return async (call) => {
    const { document } = await deps.clients.lifecycle[deps.kind].discardPid(
      { ...(await draftToChange(deps, call)), scheme: param(call, 'scheme') },
      call.principal,
    );
    return entityReply(200, document, deps, call);
  };
}
