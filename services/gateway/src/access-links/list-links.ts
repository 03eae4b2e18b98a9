import type { EntityDeps } from '../entity-deps.ts';
import { type Endpoint, json } from '../http/endpoint.ts';
import { accessLinkJson } from '../rendering/access-link-json.ts';
import { authoriseLinks } from './authorise-links.ts';

/** GET /api/{kind}/{id}/access/links: oldest first, tokens included. */
export function listLinks(deps: EntityDeps): Endpoint {
  return async (call) => {
    const ticket = await authoriseLinks(deps, call);
    const { links } = await deps.clients.accessLinks.listLinks({ ticket }, call.principal, {
      signal: call.signal,
    });
    return json(200, { hits: { hits: links.map(accessLinkJson), total: links.length } });
  };
}
