import { type EntityDeps, present } from '../entities.ts';
import { type Call, created, json, noContent, param } from '../http/endpoint.ts';
import type { Operation } from '../http/route.ts';
import { COLLECTION, KIND_NAMES } from '../kind.ts';
import { accessLinkJson } from '../rendering/entity-json.ts';

export function accessLinkRoutes(deps: EntityDeps): Operation[] {
  const { kind, clients } = deps;
  const { accessLinks } = clients;
  const { title } = KIND_NAMES[kind];
  const all = `/api/${COLLECTION[kind]}/:id/access/links`;
  const one = `${all}/:linkId`;
  const authorise = (call: Call) => authoriseLinks(deps, call);
  return [
    {
      method: 'GET',
      path: all,
      operationId: `list${title}Links`,
      summary: 'The access links, oldest first, with their tokens.',
      responses: { 200: 'AccessLinks' },
      errors: [403, 404],
      handler: async (call) => {
        const ticket = await authorise(call);
        const { links } = await accessLinks.listLinks({ ticket }, call.principal, {
          signal: call.signal,
        });
        return json(200, { hits: { hits: links.map(accessLinkJson), total: links.length } });
      },
    },
    {
      method: 'POST',
      path: all,
      body: 'json',
      changes: ['published'],
      operationId: `create${title}Link`,
      summary: 'Creates an access link, which is valid for all versions.',
      requestBody: 'NewAccessLink',
      responses: { 201: 'AccessLink201' },
      errors: [400, 403, 404],
      handler: async (call) => {
        const ticket = await authorise(call);
        const { link } = await accessLinks.createLink(
          { ticket, body: call.rawBody, creationKey: call.creationKey },
          call.principal,
        );
        const body = accessLinkJson(present(link));
        return created(body, `${call.baseUrl}${call.path}/${body['id']}`);
      },
    },
    {
      method: 'GET',
      path: one,
      operationId: `read${title}Link`,
      summary: 'One access link.',
      responses: { 200: 'AccessLink' },
      errors: [403, 404],
      handler: async (call) => {
        const ticket = await authorise(call);
        const { link } = await accessLinks.readLink(
          { ticket, linkId: param(call, 'linkId') },
          call.principal,
          { signal: call.signal },
        );
        return json(200, accessLinkJson(present(link)));
      },
    },
    {
      method: 'PATCH',
      path: one,
      body: 'json',
      changes: ['published'],
      operationId: `change${title}Link`,
      summary: 'Changes the permission of a link or shortens its lifetime; its token stays.',
      requestBody: 'NewAccessLink',
      responses: { 200: 'AccessLink' },
      errors: [400, 403, 404],
      handler: async (call) => {
        const ticket = await authorise(call);
        const { link } = await accessLinks.changeLink(
          { ticket, linkId: param(call, 'linkId'), body: call.rawBody },
          call.principal,
        );
        return json(200, accessLinkJson(present(link)));
      },
    },
    {
      method: 'DELETE',
      path: one,
      changes: ['published'],
      operationId: `revoke${title}Link`,
      summary: 'Revokes a link.',
      responses: { 204: 'Done' },
      errors: [403, 404],
      handler: async (call) => {
        const ticket = await authorise(call);
        await accessLinks.revokeLink({ ticket, linkId: param(call, 'linkId') }, call.principal);
        return noContent();
      },
    },
  ];
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
