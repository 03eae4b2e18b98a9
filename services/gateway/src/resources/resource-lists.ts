import type { Clients } from '../clients.ts';
import { type Call, json, noContent, param, type Reply } from '../http/endpoint.ts';
import type { Route } from '../http/route.ts';
import type { PageLimits } from '../rendering/page-links.ts';
import { findEntities } from '../search/find-entities.ts';
import { DRAFT_RESOURCES_QUERY, readSearchQuery, resourcesQuery } from '../search/search-query.ts';

export function resourceRoutes(clients: Clients, limits: PageLimits): Route[] {
  const tag = 'packages';
  const one = '/api/packages/:id';
  const inDraft = `${one}/draft/resources`;
  return [
    {
      method: 'GET',
      path: `${one}/resources`,
      auth: 'open',
      produces: 'json',
      cost: 'search',
      lane: 'search',
      operationId: 'listPackageResources',
      openapi: {
        tag,
        summary: 'The published resources of this version that the caller may read.',
        parameters: ['Id', ...resourcesQuery('sort', [])],
        responses: { 200: 'PublishedListing' },
        errors: [400],
      },
      handler: (call) => listPackageResources(clients, limits, call),
    },
    {
      method: 'GET',
      path: inDraft,
      auth: 'token',
      produces: 'json',
      cost: 'search',
      lane: 'search',
      operationId: 'listDraftResources',
      openapi: {
        tag,
        summary: 'The resources of this draft version that the caller may read.',
        parameters: ['Id', ...DRAFT_RESOURCES_QUERY],
        responses: { 200: 'Listing' },
        errors: [400],
      },
      handler: (call) => listDraftResources(clients, limits, call),
    },
    {
      method: 'POST',
      path: inDraft,
      auth: 'token',
      body: 'json',
      produces: 'json',
      changes: ['index'],
      operationId: 'addResources',
      openapi: {
        tag,
        summary: 'Adds resources to the draft version; `errors` lists the refused ones.',
        parameters: ['Id'],
        requestBody: 'Resources',
        responses: { 200: 'ResourceErrors' },
        errors: [400, 403, 404],
      },
      handler: (call) => addResources(clients, call),
    },
    {
      method: 'DELETE',
      path: inDraft,
      auth: 'token',
      body: 'json',
      produces: 'json',
      changes: ['index'],
      operationId: 'removeResources',
      openapi: {
        tag,
        summary: 'Removes resources from the draft version; `errors` lists the refused ones.',
        parameters: ['Id'],
        requestBody: 'Resources',
        responses: { 200: 'ResourceErrors' },
        errors: [400, 403, 404, 409],
      },
      handler: (call) => removeResources(clients, call),
    },
    {
      method: 'POST',
      path: `${one}/draft/actions/resources-import`,
      auth: 'token',
      produces: 'json',
      changes: ['index'],
      operationId: 'importResources',
      openapi: {
        tag,
        summary: 'Copies the resources of the previous version into the draft.',
        parameters: ['Id'],
        responses: { 204: 'Done' },
        errors: [403, 404],
      },
      handler: (call) => importResources(clients, call),
    },
  ];
}

async function addResources(clients: Clients, call: Call): Promise<Reply> {
  const request = { packageId: param(call, 'id'), body: call.rawBody };
  const { errors } = await clients.packages.addResources(request, call.principal);
  return json(200, { errors: errors.map(({ record, message }) => ({ record, message })) });
}

async function importResources(clients: Clients, call: Call): Promise<Reply> {
  await clients.packages.importResources({ packageId: param(call, 'id') }, call.principal);
  return noContent();
}

async function listDraftResources(clients: Clients, limits: PageLimits, call: Call): Promise<Reply> {
  const query = readSearchQuery(call.query, limits);
  const held = await clients.packages.listResources(
    { packageId: param(call, 'id'), asDraft: true },
    call.principal,
    { signal: call.signal },
  );
  return findEntities(
    clients,
    {
      listing: 'LISTING_DRAFT_RESOURCES',
      kinds: ['record'],
      onlyIds: held.ids,
    },
    { ...query, allVersions: true },
    call,
  );
}

async function listPackageResources(clients: Clients, limits: PageLimits, call: Call): Promise<Reply> {
  const query = readSearchQuery(call.query, limits);
  const held = await clients.packages.listResources({ packageId: param(call, 'id') }, call.principal, {
    signal: call.signal,
  });
  // A version keeps its resources, also when they have later versions.
  return findEntities(
    clients,
    {
      listing: 'LISTING_PACKAGE_RESOURCES',
      kinds: ['record'],
      onlyIds: held.ids,
      // Those of a draft version may be drafts, of which the index has no published form.
      publishedIds: held.isPublished ? held.ids : [],
    },
    query,
    call,
  );
}

async function removeResources(clients: Clients, call: Call): Promise<Reply> {
  const request = { packageId: param(call, 'id'), body: call.rawBody };
  const { errors } = await clients.packages.removeResources(request, call.principal);
  return json(200, { errors: errors.map(({ record, message }) => ({ record, message })) });
}
