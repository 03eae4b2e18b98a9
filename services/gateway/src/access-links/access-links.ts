import type { AccessLink__Output } from '@kr/contracts';
import type { EntityDeps } from '../entity-deps.ts';
import { type Call, created, json, noContent, param, type Reply } from '../http/endpoint.ts';
import type { Route } from '../http/route.ts';
import { COLLECTION, KIND_NAMES } from '../kind.ts';
import { accessLinkJson, type Json } from '../rendering/entity-json.ts';

export function accessLinkRoutes(deps: EntityDeps): Route[] {
  const tag = COLLECTION[deps.kind];
  const { title } = KIND_NAMES[deps.kind];
  const all = `/api/${tag}/:id/access/links`;
  const one = `${all}/:linkId`;
  return [
    {
      method: 'GET',
      path: all,
      auth: 'token',
      produces: 'json',
      operationId: `list${title}Links`,
      openapi: {
        tag,
        summary: 'The access links, oldest first, with their tokens.',
        parameters: ['Id'],
        responses: { 200: 'AccessLinks' },
        errors: [403, 404],
      },
      handler: (call) => listLinks(deps, call),
    },
    {
      method: 'POST',
      path: all,
      auth: 'token',
      body: 'json',
      produces: 'json',
      changes: ['published'],
      operationId: `create${title}Link`,
      openapi: {
        tag,
        summary: 'Makes an access link, which opens all versions.',
        parameters: ['Id'],
        requestBody: 'NewAccessLink',
        responses: { 201: 'AccessLink201' },
        errors: [400, 403, 404],
      },
      handler: (call) => createLink(deps, call),
    },
    {
      method: 'GET',
      path: one,
      auth: 'token',
      produces: 'json',
      operationId: `read${title}Link`,
      openapi: {
        tag,
        summary: 'One access link.',
        parameters: ['Id', 'LinkId'],
        responses: { 200: 'AccessLink' },
        errors: [403, 404],
      },
      handler: (call) => readLink(deps, call),
    },
    {
      method: 'PATCH',
      path: one,
      auth: 'token',
      body: 'json',
      produces: 'json',
      changes: ['published'],
      operationId: `change${title}Link`,
      openapi: {
        tag,
        summary: 'Changes the permission of a link or brings its expiry forward; its token stays.',
        parameters: ['Id', 'LinkId'],
        requestBody: 'NewAccessLink',
        responses: { 200: 'AccessLink' },
        errors: [400, 403, 404],
      },
      handler: (call) => changeLink(deps, call),
    },
    {
      method: 'DELETE',
      path: one,
      auth: 'token',
      produces: 'json',
      changes: ['published'],
      operationId: `revoke${title}Link`,
      openapi: {
        tag,
        summary: 'Ends a link.',
        parameters: ['Id', 'LinkId'],
        responses: { 204: 'Done' },
        errors: [403, 404],
      },
      handler: (call) => revokeLink(deps, call),
    },
  ];
}

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

async function listLinks(deps: EntityDeps, call: Call): Promise<Reply> {
  const ticket = await authoriseLinks(deps, call);
  const { links } = await deps.clients.accessLinks.listLinks({ ticket }, call.principal, {
    signal: call.signal,
  });
  return json(200, { hits: { hits: links.map(accessLinkJson), total: links.length } });
}

async function createLink(deps: EntityDeps, call: Call): Promise<Reply> {
  const ticket = await authoriseLinks(deps, call);
  const { link } = await deps.clients.accessLinks.createLink(
    { ticket, body: call.rawBody, creationKey: call.creationKey },
    call.principal,
  );
  const shown = linkReply(link);
  return created(shown, `${call.baseUrl}${call.path}/${shown['id']}`);
}

async function readLink(deps: EntityDeps, call: Call): Promise<Reply> {
  const ticket = await authoriseLinks(deps, call);
  const { link } = await deps.clients.accessLinks.readLink(
    { ticket, linkId: param(call, 'linkId') },
    call.principal,
    { signal: call.signal },
  );
  return json(200, linkReply(link));
}

async function changeLink(deps: EntityDeps, call: Call): Promise<Reply> {
  const ticket = await authoriseLinks(deps, call);
  const { link } = await deps.clients.accessLinks.changeLink(
    { ticket, linkId: param(call, 'linkId'), body: call.rawBody },
    call.principal,
  );
  return json(200, linkReply(link));
}

async function revokeLink(deps: EntityDeps, call: Call): Promise<Reply> {
  const ticket = await authoriseLinks(deps, call);
  await deps.clients.accessLinks.revokeLink({ ticket, linkId: param(call, 'linkId') }, call.principal);
  return noContent();
}
