import type { AccessLink__Output } from '@kr/contracts';
import type { EntityDeps } from '../entity-deps.ts';
import { type Call, created, type Endpoint, json, noContent, param } from '../http/endpoint.ts';
import { accessLinkJson, type Json } from '../rendering/entity-json.ts';

/** The document of the one link that a call was about. */
function linkReply(link: AccessLink__Output | null): Json {
  if (link === null) throw new Error('the access links service answered without the link it promised');
  return accessLinkJson(link);
}

/**
 * A ticket to manage the links of the entity's parent; any version in either form will do.
 * @throws ServiceError errors of the entity's service
 */
async function authoriseLinks({ kind, clients }: EntityDeps, call: Call): Promise<string> {
  const { ticket } = await clients.lifecycle[kind].authorise(
    { id: param(call, 'id'), form: 'FORM_UNSPECIFIED', action: 'manage_links' },
    call.principal,
    { signal: call.signal },
  );
  return ticket;
}

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

/** DELETE /api/{kind}/{id}/access/links/{linkId} */
export function revokeLink(deps: EntityDeps): Endpoint {
  return async (call) => {
    const ticket = await authoriseLinks(deps, call);
    await deps.clients.accessLinks.revokeLink({ ticket, linkId: param(call, 'linkId') }, call.principal);
    return noContent();
  };
}
