import { ServiceError } from '@kr/service-error';
import type { Clients } from '../clients.ts';
import type { EntityDeps } from '../entities.ts';
import { CSV_TYPE, GEOJSON_TYPE } from '../http/accept.ts';
import type { Call, Reply, TextReply } from '../http/endpoint.ts';
import type { Operation } from '../http/route.ts';
import { COLLECTION, KIND_NAMES, KINDS, type Kind } from '../kind.ts';
import type { Links } from '../rendering/links.ts';
import type { PageLimits } from '../rendering/page-links.ts';
import { findEntities } from './find-entities.ts';
import { hitsAsCsv, hitsAsGeojson } from './formats.ts';
import { readFormat, readSearchQuery } from './search-query.ts';

/** Only for the API description: the search service decides which facets a listing has (`listings.ts`). */
const FACETS = [
  'category',
  'record_type',
  'resource_type',
  'geo_work_programme_activity',
  'target_audience',
  'engagement_priority',
  'subject',
];

const SEARCH = { method: 'GET', cost: 'search', lane: 'search', errors: [400] } as const;
const OF_PUBLISHED = {
  ...SEARCH,
  auth: 'open',
  produces: 'hits',
  parameters: ['q', 'bbox', ...FACETS, 'sort', 'size', 'page', 'cursor', 'resultFormat', 'allversions'],
  responses: { 200: 'Hits' },
} as const;
const OF_OWN = {
  ...SEARCH,
  parameters: ['q', 'bbox', ...FACETS, 'sortOwn', 'size', 'page', 'cursor', 'allversions'],
  responses: { 200: 'Listing' },
} as const;

/** Searches over both kinds, and over the documents of the caller. */
export function searchRoutes(clients: Clients, limits: PageLimits): Operation[] {
  return [
    {
      ...OF_OWN,
      path: '/api/user/search',
      operationId: 'searchOwn',
      summary: "The caller's drafts and published entities of both kinds.",
      handler: (call) => searchOwn(clients, [...KINDS], limits, call),
    },
    ...KINDS.map((kind): Operation => {
      const { title, noun } = KIND_NAMES[kind];
      return {
        ...OF_OWN,
        path: `/api/user/${COLLECTION[kind]}`,
        operationId: `searchOwn${title}s`,
        summary: `The caller's ${noun} drafts and published ${noun}s.`,
        handler: (call) => searchOwn(clients, [kind], limits, call),
      };
    }),
    {
      ...OF_PUBLISHED,
      path: '/api/search',
      operationId: 'search',
      summary: 'Published resources and packages that the caller may read.',
      handler: (call) => searchPublished(clients, [...KINDS], limits, call),
    },
  ];
}

export function kindSearchRoutes({ kind, clients }: EntityDeps, limits: PageLimits): Operation[] {
  const { title, noun } = KIND_NAMES[kind];
  return [
    {
      ...OF_PUBLISHED,
      path: `/api/${COLLECTION[kind]}`,
      operationId: `search${title}s`,
      summary: `Published ${noun}s that the caller may read.`,
      handler: (call) => searchPublished(clients, [kind], limits, call),
    },
  ];
}

async function searchOwn(clients: Clients, kinds: Kind[], limits: PageLimits, call: Call): Promise<Reply> {
  const query = readSearchQuery(call.query, limits);
  // Documents opened by a link are listed with the user's; a link alone has no user.
  if (call.principal.userId === null) throw new ServiceError('unauthenticated', 'Authentication required.');
  return findEntities(clients, { listing: 'LISTING_USER', kinds }, query, call);
}

async function searchPublished(
  clients: Clients,
  kinds: Kind[],
  limits: PageLimits,
  call: Call,
): Promise<Reply> {
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
