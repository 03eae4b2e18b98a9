import type { Clients } from '../clients.ts';
import { json, noContent, param } from '../http/endpoint.ts';
import type { Operation } from '../http/route.ts';
import type { PageLimits } from '../rendering/page-links.ts';
import { findEntities } from '../search/find-entities.ts';
import { DRAFT_RESOURCES_QUERY, readSearchQuery, resourcesQuery } from '../search/search-query.ts';

export function resourceRoutes(clients: Clients, limits: PageLimits): Operation[] {
  const one = '/api/packages/:id';
  const inDraft = `${one}/draft/resources`;
  return [
    {
      method: 'GET',
      path: `${one}/resources`,
      auth: 'open',
      cost: 'search',
      lane: 'search',
      operationId: 'listPackageResources',
      summary: 'The published resources of this version that the caller may read.',
      parameters: resourcesQuery('sortResources', []),
      responses: { 200: 'PublishedListing' },
      errors: [400],
      handler: async (call) => {
        const query = readSearchQuery(call.query, limits);
        const resources = await clients.packages.listResources(
          { packageId: param(call, 'id') },
          call.principal,
          {
            signal: call.signal,
          },
        );
        // A version keeps its resources, also when they have later versions.
        return findEntities(
          clients,
          {
            listing: 'LISTING_PACKAGE_RESOURCES',
            kinds: ['record'],
            onlyIds: resources.ids,
            // Those of a draft version may be drafts, of which the index has no published form.
            publishedIds: resources.isPublished ? resources.ids : [],
          },
          query,
          call,
        );
      },
    },
    {
      method: 'GET',
      path: inDraft,
      cost: 'search',
      lane: 'search',
      operationId: 'listDraftResources',
      summary: 'The resources of this draft version that the caller may read.',
      parameters: DRAFT_RESOURCES_QUERY,
      responses: { 200: 'Listing' },
      errors: [400],
      handler: async (call) => {
        const query = readSearchQuery(call.query, limits);
        const resources = await clients.packages.listResources(
          { packageId: param(call, 'id'), asDraft: true },
          call.principal,
          { signal: call.signal },
        );
        return findEntities(
          clients,
          {
            listing: 'LISTING_DRAFT_RESOURCES',
            kinds: ['record'],
            onlyIds: resources.ids,
          },
          { ...query, allVersions: true },
          call,
        );
      },
    },
    {
      method: 'POST',
      path: inDraft,
      body: 'json',
      changes: ['index'],
      operationId: 'addResources',
      summary: 'Adds resources to the draft version; `errors` lists the refused ones.',
      requestBody: 'Resources',
      responses: { 200: 'ResourceErrors' },
      errors: [400, 403, 404],
      handler: async (call) => {
        const request = { packageId: param(call, 'id'), body: call.rawBody };
        const { errors } = await clients.packages.addResources(request, call.principal);
        return json(200, { errors: errors.map(({ record, message }) => ({ record, message })) });
      },
    },
    {
      method: 'DELETE',
      path: inDraft,
      body: 'json',
      changes: ['index'],
      operationId: 'removeResources',
      summary: 'Removes resources from the draft version; `errors` lists the refused ones.',
      requestBody: 'Resources',
      responses: { 200: 'ResourceErrors' },
      errors: [400, 403, 404, 409],
      handler: async (call) => {
        const request = { packageId: param(call, 'id'), body: call.rawBody };
        const { errors } = await clients.packages.removeResources(request, call.principal);
        return json(200, { errors: errors.map(({ record, message }) => ({ record, message })) });
      },
    },
    {
      method: 'POST',
      path: `${one}/draft/actions/resources-import`,
      changes: ['index'],
      operationId: 'importResources',
      summary: 'Copies the resources of the previous version into the draft.',
      responses: { 204: 'Done' },
      errors: [403, 404],
      handler: async (call) => {
        await clients.packages.importResources({ packageId: param(call, 'id') }, call.principal);
        return noContent();
      },
    },
  ];
}
