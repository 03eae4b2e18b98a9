import { ServiceError } from '@kr/service-error';
import type { Clients } from '../clients.ts';
import { CSV_TYPE, GEOJSON_TYPE } from '../http/accept.ts';
import type { Call, Reply, TextReply } from '../http/endpoint.ts';
import type { OpenapiFragment, Route } from '../http/route.ts';
import { COLLECTION, KIND_NAMES, KINDS, type Kind } from '../kind.ts';
import type { Links } from '../rendering/links.ts';
import type { PageLimits } from '../rendering/page-links.ts';
import { findEntities } from './find-entities.ts';
import { hitsAsCsv, hitsAsGeojson } from './formats.ts';
import { readFormat, readSearchQuery } from './search-query.ts';

/** The facets of listings of entities, in the order of the answer. */
const FACETS = [
  'category',
  'record_type',
  'resource_type',
  'geo_work_programme_activity',
  'target_audience',
  'engagement_priority',
  'subject',
];

interface SearchRoute {
  path: string;
  kinds: Kind[];
  operationId: string;
  tag: OpenapiFragment['tag'];
  summary: string;
}

export function searchRoutes(clients: Clients, limits: PageLimits): Route[] {
  const published = ({ path, kinds, operationId, tag, summary }: SearchRoute): Route => ({
    method: 'GET',
    path,
    auth: 'open',
    produces: 'hits',
    cost: 'search',
    lane: 'search',
    operationId,
    openapi: {
      tag,
      summary,
      parameters: ['q', 'bbox', ...FACETS, 'sort', 'size', 'page', 'cursor', 'resultFormat', 'allversions'],
      responses: { 200: 'Hits' },
      errors: [400],
    },
    handler: (call) => searchPublished(clients, kinds, limits, call),
  });
  const own = ({ path, kinds, operationId, tag, summary }: SearchRoute): Route => ({
    method: 'GET',
    path,
    auth: 'token',
    produces: 'json',
    cost: 'search',
    lane: 'search',
    operationId,
    openapi: {
      tag,
      summary,
      parameters: ['q', 'bbox', ...FACETS, 'sortOwn', 'size', 'page', 'cursor', 'allversions'],
      responses: { 200: 'Listing' },
      errors: [400],
    },
    handler: (call) => searchOwn(clients, kinds, limits, call),
  });
  return [
    own({
      path: '/api/user/search',
      kinds: [...KINDS],
      operationId: 'searchOwn',
      tag: 'search',
      summary: "The caller's drafts and published entities of both kinds.",
    }),
    published({
      path: '/api/search',
      kinds: [...KINDS],
      operationId: 'search',
      tag: 'search',
      summary: 'Published resources and packages that the caller may read.',
    }),
    ...KINDS.flatMap((kind) => {
      const tag = COLLECTION[kind];
      const { title, noun } = KIND_NAMES[kind];
      return [
        own({
          path: `/api/user/${tag}`,
          kinds: [kind],
          operationId: `searchOwn${title}s`,
          tag: 'search',
          summary: `The caller's ${noun} drafts and published ${noun}s.`,
        }),
        published({
          path: `/api/${tag}`,
          kinds: [kind],
          operationId: `search${title}s`,
          tag,
          summary: `Published ${noun}s that the caller may read.`,
        }),
      ];
    }),
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
