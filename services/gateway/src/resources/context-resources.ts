import type { Clients } from '../clients.ts';
import { noContent, param } from '../http/endpoint.ts';
import type { Operation } from '../http/route.ts';
import type { PageLimits } from '../rendering/page-links.ts';
import { findEntities } from '../search/find-entities.ts';
import { DRAFT_RESOURCES_QUERY, readSearchQuery } from '../search/search-query.ts';

export function contextRoutes(clients: Clients, limits: PageLimits): Operation[] {
  const context = '/api/packages/:id/context';
  const changeMembers = (operationId: 'associate' | 'dissociate', summary: string): Operation => ({
    method: 'POST',
    path: `${context}/actions/${operationId}`,
    body: 'json',
    changes: ['published', 'index'],
    operationId,
    summary,
    requestBody: 'Records',
    responses: { 204: 'Done' },
    errors: [400, 403, 404],
    handler: async (call) => {
      const request = { packageId: param(call, 'id'), body: call.rawBody };
      await clients.packages[operationId](request, call.principal);
      return noContent();
    },
  });
  return [
    {
      method: 'GET',
      path: '/api/packages/context/:parentId/resources',
      cost: 'search',
      lane: 'search',
      operationId: 'listContextResources',
      summary: "The resources of a package's context that the caller may read.",
      parameters: DRAFT_RESOURCES_QUERY,
      responses: { 200: 'Listing' },
      errors: [400],
      handler: async (call) => {
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
      },
    },
    {
      method: 'PUT',
      path: context,
      body: 'json',
      changes: ['published', 'index'],
      operationId: 'updateContext',
      summary: 'Changes the settings of the context.',
      requestBody: 'Context',
      responses: { 204: 'Done' },
      errors: [400, 403, 404, 409],
      handler: async (call) => {
        await clients.packages.updateContext(
          { packageId: param(call, 'id'), body: call.rawBody },
          call.principal,
        );
        return noContent();
      },
    },
    changeMembers('associate', 'Adds resource drafts to the context: all or none.'),
    changeMembers(
      'dissociate',
      'Removes resources from the context and from every draft version: all or none.',
    ),
  ];
}
