import type { EntityDeps } from '../entity-deps.ts';
import { type Endpoint, json, param } from '../http/endpoint.ts';
import { authoriseLinks } from './authorise-links.ts';
import { linkReply } from './link-reply.ts';

/** GET /api/{kind}/{id}/access/links/{linkId} */
export function readLink(deps: EntityDeps): Endpoint {
  return async (call) => {
    const ticket = await authoriseLinks(deps, call);
    const { link } = await deps.clients.accessLinks.readLink(
      { ticket, linkId: param(call, 'linkId') },
      call.principal,
      { signal: call.signal },
    );
    return json(200, linkReply(link));
  };
}
