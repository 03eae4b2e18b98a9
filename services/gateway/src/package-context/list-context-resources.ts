import type { Clients } from '../clients.ts';
import { type Endpoint, param } from '../http/endpoint.ts';
import { findEntities, newsOf } from '../search/find-entities.ts';
import type { PageLimits } from '../search/read-page.ts';
import { readSearchQuery } from '../search/search-query.ts';

/** GET /api/packages/context/{parentId}/resources: the resources of a package's context that the caller may read. */
export function listContextResources(clients: Clients, limits: PageLimits): Endpoint {
  return async (call) => {
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
        ...newsOf('record', managed),
      },
      { ...query, allVersions: true },
      call,
    );
  };
}
