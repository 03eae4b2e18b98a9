import type { Clients } from '../clients.ts';
import { type Endpoint, param } from '../http/endpoint.ts';
import { findEntities, newsOf } from '../search/find-entities.ts';
import type { PageLimits } from '../search/read-page.ts';
import { readSearchQuery } from '../search/search-query.ts';

/** GET /api/packages/{id}/resources: the published resources of a package version that the caller may read. */
export function listPackageResources(clients: Clients, limits: PageLimits): Endpoint {
  return async (call) => {
    const query = readSearchQuery(call.query, limits);
    const held = await clients.packages.listResources({ packageId: param(call, 'id') }, call.principal, {
      signal: call.signal,
    });
    // A version keeps what it holds, also where that has a later version of its own.
    return findEntities(
      clients,
      {
        listing: 'LISTING_PACKAGE_RESOURCES',
        kinds: ['record'],
        onlyIds: held.ids,
        // Those of a draft version may be drafts, of which the index has no published form.
        publishedIds: held.isPublished ? held.ids : [],
        ...newsOf('package', held),
      },
      query,
      call,
    );
  };
}
