import { type EntityDeps, readEntity } from '../entities.ts';
import { json, param } from '../http/endpoint.ts';
import type { Operation } from '../http/route.ts';
import { type PageLimits, pageLinks, readPage } from '../rendering/page-links.ts';

/** Requests for reviews or assistance, of packages only. */
export function packageRequestRoutes(deps: EntityDeps, limits: PageLimits): Operation[] {
  return [
    {
      method: 'GET',
      path: '/api/packages/:id/requests',
      auth: 'open',
      operationId: 'listPackageRequests',
      summary: 'Requests for reviews or assistance: always none, because this repository does not have them.',
      parameters: ['size', 'page'],
      responses: { 200: 'PublishedListing' },
      errors: [400, 403, 404],
      handler: async (call) => {
        const page = readPage(call.query, limits);
        await readEntity(deps, param(call, 'id'), 'FORM_PUBLISHED', call);
        return json(200, {
          hits: { hits: [], total: 0 },
          aggregations: {},
          sortBy: 'newest',
          links: pageLinks(`${call.baseUrl}${call.path}`, {
            ...page,
            total: 0,
            parameters: [['sort', 'newest']],
          }),
        });
      },
    },
  ];
}
