import type { EntityDeps } from '../entity-deps.ts';
import { type Endpoint, json, param } from '../http/endpoint.ts';
import { authoriseLinks } from './authorise-links.ts';
import { linkReply } from './link-reply.ts';

/** PATCH /api/{kind}/{id}/access/links/{linkId}: 200 with the changed link, whose token is the same. */
export function changeLink(deps: EntityDeps): Endpoint {
  return async (call) => {
    const ticket = await authoriseLinks(deps, call);
    const { link } = await deps.clients.accessLinks.changeLink(
      { ticket, linkId: param(call, 'linkId'), body: call.rawBody },
      call.principal,
    );
    return json(200, linkReply(link));
  };
}
