import type { Clients } from '../clients.ts';
import type { Endpoint } from '../http/endpoint.ts';
import type { Kind } from '../kind.ts';
import { findEntities } from './find-entities.ts';
import type { PageLimits } from './read-page.ts';
import { readSearchQuery } from './search-query.ts';

/** GET /api/records, /api/packages, /api/search: published entities that the caller may read. */
export function searchPublished(clients: Clients, kinds: Kind[], limits: PageLimits): Endpoint {
  return async (call) =>
    findEntities(clients, { listing: 'LISTING_PUBLISHED', kinds }, readSearchQuery(call.query, limits), call);
}
