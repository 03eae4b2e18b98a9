import { type EntityDeps, entityReply } from '../entity-deps.ts';
import type { Endpoint } from '../http/endpoint.ts';

/** POST /api/{kind}: 201 with the new draft; what is wrong with it is listed under `errors`. */
export function createDraft(deps: EntityDeps): Endpoint {
  return async (call) => {
    const { document } = await deps.clients.lifecycle[deps.kind].createDraft(
      { body: call.rawBody, creationKey: call.creationKey },
      call.principal,
    );
    const reply = entityReply(201, document, deps, call);
    // The REST document shows `expanded` on the answer to a package's creation, asked for or not.
    if (deps.kind === 'package') reply.body = { ...(reply.body as object), expanded: {} };
    return reply;
  };
}
