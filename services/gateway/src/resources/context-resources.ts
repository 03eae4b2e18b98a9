import type { Clients } from '../clients.ts';
import { type Call, noContent, param, type Reply } from '../http/endpoint.ts';
import type { Route } from '../http/route.ts';
import type { PageLimits } from '../rendering/page-links.ts';
import { findEntities } from '../search/find-entities.ts';
import { DRAFT_RESOURCES_QUERY, readSearchQuery } from '../search/search-query.ts';

export function contextRoutes(clients: Clients, limits: PageLimits): Route[] {
  const tag = 'packages';
  const context = '/api/packages/:id/context';
  return [
    {
      method: 'GET',
      path: '/api/packages/context/:parentId/resources',
      auth: 'token',
      produces: 'json',
      cost: 'search',
      lane: 'search',
      operationId: 'listContextResources',
      openapi: {
        tag,
        summary: "The resources of a package's context that the caller may read.",
        parameters: ['ParentId', ...DRAFT_RESOURCES_QUERY],
        responses: { 200: 'Listing' },
        errors: [400],
      },
      handler: (call) => listContextResources(clients, limits, call),
    },
    {
      method: 'PUT',
      path: context,
      auth: 'token',
      body: 'json',
      produces: 'json',
      changes: ['published', 'index'],
      operationId: 'updateContext',
      openapi: {
        tag,
        summary: 'Changes the settings of the context.',
        parameters: ['Id'],
        requestBody: 'Context',
        responses: { 204: 'Done' },
        errors: [400, 403, 404, 409],
      },
      handler: (call) => updateContext(clients, call),
    },
    {
      method: 'POST',
      path: `${context}/actions/associate`,
      auth: 'token',
      body: 'json',
      produces: 'json',
      changes: ['published', 'index'],
      operationId: 'associate',
      openapi: {
        tag,
        summary: 'Puts resource drafts into the context: all or none.',
        parameters: ['Id'],
        requestBody: 'Records',
        responses: { 204: 'Done' },
        errors: [400, 403, 404],
      },
      handler: (call) => associate(clients, call),
    },
    {
      method: 'POST',
      path: `${context}/actions/dissociate`,
      auth: 'token',
      body: 'json',
      produces: 'json',
      changes: ['published', 'index'],
      operationId: 'dissociate',
      openapi: {
        tag,
        summary: 'Takes resources out of the context and out of every draft version: all or none.',
        parameters: ['Id'],
        requestBody: 'Records',
        responses: { 204: 'Done' },
        errors: [400, 403, 404],
      },
      handler: (call) => dissociate(clients, call),
    },
  ];
}

async function associate(clients: Clients, call: Call): Promise<Reply> {
  await clients.packages.associate({ packageId: param(call, 'id'), body: call.rawBody }, call.principal);
  return noContent();
}

async function dissociate(clients: Clients, call: Call): Promise<Reply> {
  await clients.packages.dissociate({ packageId: param(call, 'id'), body: call.rawBody }, call.principal);
  return noContent();
}

async function listContextResources(clients: Clients, limits: PageLimits, call: Call): Promise<Reply> {
  const query = readSearchQuery(call.query, limits);
  const managed = await clients.packages.listContextResources(
    { packageParentId: param(call, 'parentId') },
    call.principal,
    { signal: call.signal },
  );
  return findEntities(
    clients,
    {
      listing: 'LISTING_CONTEXT_RESOURCES',
      kinds: ['record'],
      onlyIds: managed.ids,
      publishedIds: managed.publishedIds,
    },
    { ...query, allVersions: true },
    call,
  );
}

async function updateContext(clients: Clients, call: Call): Promise<Reply> {
  await clients.packages.updateContext({ packageId: param(call, 'id'), body: call.rawBody }, call.principal);
  return noContent();
}
