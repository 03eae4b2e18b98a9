import { type EntityDeps, entityReply, readEntity } from '../entity-deps.ts';
import { type Endpoint, param } from '../http/endpoint.ts';

/** GET /api/{kind}/{id} */
export function readPublished(deps: EntityDeps): Endpoint {
  return async (call) =>
    entityReply(200, await readEntity(deps, param(call, 'id'), 'FORM_PUBLISHED', call), deps, call);
}
