import type { EntityDeps } from '../entity-deps.ts';
import { type Endpoint, noContent, param } from '../http/endpoint.ts';
import { authoriseLinks } from './authorise-links.ts';

/** DELETE /api/{kind}/{id}/access/links/{linkId} */
export function revokeLink(deps: EntityDeps): Endpoint {
  return async (call) => {
    const ticket = await authoriseLinks(deps, call);
    await deps.clients.accessLinks.revokeLink({ ticket, linkId: param(call, 'linkId') }, call.principal);
    return noContent();
  };
}
