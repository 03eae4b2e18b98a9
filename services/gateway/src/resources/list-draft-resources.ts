import type { Clients } from '../clients.ts';
import { type Endpoint, param } from '../http/endpoint.ts';
import { findEntities, newsOf } from '../search/find-entities.ts';
import type { PageLimits } from '../search/read-page.ts';
import { readSearchQuery } from '../search/search-query.ts';

/** GET /api/packages/{id}/draft/resources: the resources of a package version that the caller may read. */
export function listDraftResources(clients: Clients, limits: PageLimits): Endpoint {
  return async (call) => {
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
        ...newsOf('package', held),
      },
      { ...query, allVersions: true },
      call,
    );
  };
}
