import type { EntityDeps } from '../entity-deps.ts';
import { created, type Endpoint } from '../http/endpoint.ts';
import { authoriseLinks } from './authorise-links.ts';
import { linkReply } from './link-reply.ts';

/** POST /api/{kind}/{id}/access/links: 201 with the new link and its token. */
export function createLink(deps: EntityDeps): Endpoint {
  return async (call) => {
    const ticket = await authoriseLinks(deps, call);
    const { link } = await deps.clients.accessLinks.createLink(
      { ticket, body: call.rawBody, creationKey: call.creationKey },
      call.principal,
    );
    const shown = linkReply(link);
    return created(shown, `${call.baseUrl}${call.path}/${shown['id']}`);
  };
}
