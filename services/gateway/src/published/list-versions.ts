import type { EntityDeps } from '../entity-deps.ts';
import { type Endpoint, json, param } from '../http/endpoint.ts';
import { entityJson } from '../rendering/entity-json.ts';
import { pageLinks } from '../search/page-links.ts';
import { type PageLimits, readPage } from '../search/read-page.ts';
import { versionFacets } from './version-facets.ts';

/** GET /api/{kind}/{id}/versions: the published versions, newest first. */
export function listVersions({ kind, clients }: EntityDeps, limits: PageLimits): Endpoint {
  return async (call) => {
    const page = readPage(call.query, limits);
    const { documents, total, accessStatuses } = await clients.lifecycle[kind].listVersions(
      { id: param(call, 'id'), ...page },
      call.principal,
      { signal: call.signal },
    );
    return json(200, {
      hits: { hits: documents.map((document) => entityJson(document, kind, call.baseUrl)), total },
      aggregations: versionFacets(total, accessStatuses),
      sortBy: 'version',
      links: pageLinks(`${call.baseUrl}${call.path}`, { ...page, total, parameters: [['sort', 'version']] }),
    });
  };
}
