import { ServiceError } from '@kr/service-error';
import type { Clients } from '../clients.ts';
import { CSV_TYPE, GEOJSON_TYPE } from '../http/accept.ts';
import type { Endpoint, TextReply } from '../http/endpoint.ts';
import type { Kind } from '../kind.ts';
import type { Links } from '../rendering/links.ts';
import { findEntities } from './find-entities.ts';
import { hitsAsCsv, hitsAsGeojson } from './formats.ts';
import type { PageLimits } from './page-links.ts';
import { readFormat, readSearchQuery } from './search-query.ts';

/** GET /api/user/records, /api/user/packages, /api/user/search: the caller's drafts and published entities. */
export function searchOwn(clients: Clients, kinds: Kind[], limits: PageLimits): Endpoint {
  return async (call) => {
    const query = readSearchQuery(call.query, limits);
    // Documents opened by a link are listed with the user's; a link alone has no user.
    if (call.principal.userId === null) throw new ServiceError('unauthenticated', 'Authentication required.');
    return findEntities(clients, { listing: 'LISTING_USER', kinds }, query, call);
  };
}

/** GET /api/records, /api/packages, /api/search: published entities that the caller may read. */
export function searchPublished(clients: Clients, kinds: Kind[], limits: PageLimits): Endpoint {
  return async (call) => {
    const query = readSearchQuery(call.query, limits);
    const reply = await findEntities(clients, { listing: 'LISTING_PUBLISHED', kinds }, query, call);
    const { hits, links } = reply.body;
    switch (readFormat(call.query) ?? call.mediaType) {
      case CSV_TYPE:
        return page(CSV_TYPE, hitsAsCsv(hits.hits), links);
      case GEOJSON_TYPE:
        return page(GEOJSON_TYPE, hitsAsGeojson({ hits, links }), links);
      default:
        return reply;
    }
  };
}

/** A table has no place for its links, so they go before it (RFC 8288). */
function page(type: string, text: string, { self: _, ...others }: Links): TextReply {
  const link = Object.entries(others).map(([rel, href]) => `<${href}>; rel="${rel}"`);
  return {
    as: 'text',
    status: 200,
    type,
    text,
    ...(link.length > 0 ? { headers: { link: link.join(', ') } } : {}),
  };
}
