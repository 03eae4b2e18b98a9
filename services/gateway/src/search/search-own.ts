import { ServiceError } from '@kr/service-error';
import type { Clients } from '../clients.ts';
import type { Endpoint } from '../http/endpoint.ts';
import type { Kind } from '../kind.ts';
import { findEntities } from './find-entities.ts';
import type { PageLimits } from './read-page.ts';
import { readSearchQuery } from './search-query.ts';

/** GET /api/user/records, /api/user/packages, /api/user/search: the caller's drafts and published entities. */
export function searchOwn(clients: Clients, kinds: Kind[], limits: PageLimits): Endpoint {
  return async (call) => {
    const query = readSearchQuery(call.query, limits);
    // What a link opens is listed beside one's own, but a link alone is nobody.
    if (call.principal.userId === null) throw new ServiceError('unauthenticated', 'Authentication required.');
    return findEntities(clients, { listing: 'LISTING_USER', kinds }, query, call);
  };
}
