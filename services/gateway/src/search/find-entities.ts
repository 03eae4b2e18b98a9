import type { EntityDocument__Output, Hit__Output, SearchRequest } from '@kr/contracts';
import { fromErrorDetail } from '@kr/rpc';
import type { Clients } from '../clients.ts';
import { type Call, type JsonReply, json } from '../http/endpoint.ts';
import { KINDS, type Kind } from '../kind.ts';
import { entityJson, type Json } from '../rendering/entity-json.ts';
import { pageLinks } from './page-links.ts';
import type { SearchQuery } from './search-query.ts';

/** What a listing searches, beside what its caller asks for. */
export type Scope = Pick<SearchRequest, 'listing' | 'kinds' | 'onlyIds'>;

/**
 * One page of a listing: the search service names the hits, their services render them as their own routes would.
 *
 * @throws ServiceError `invalid`: a query, sort or box that the search service refuses
 */
export async function findEntities(
  clients: Clients,
  scope: Scope,
  query: SearchQuery,
  call: Call,
): Promise<JsonReply> {
  const { size, page, q, bbox, sort, allVersions, filters } = query;
  const found = await clients.search.search(
    { ...scope, size, page, q, bbox, sort, allVersions, filters },
    call.principal,
    { signal: call.signal },
  );
  const total = Number(found.total);
  const parameters: [string, string][] = [
    ['sort', found.sortBy],
    ...(q === '' ? [] : [['q', q] as [string, string]]),
    ...(bbox === '' ? [] : [['bbox', bbox] as [string, string]]),
    ...(allVersions ? [['allversions', 'True'] as [string, string]] : []),
    ...found.effectiveFilters.flatMap(({ name, values }) =>
      values.map((value): [string, string] => [name, value]),
    ),
  ];
  return json(200, {
    hits: { hits: await render(clients, found.hits, call), total },
    aggregations: found.aggregationsJson.length === 0 ? {} : JSON.parse(found.aggregationsJson.toString()),
    sortBy: found.sortBy,
    links: pageLinks(`${call.baseUrl}${call.path}`, { size, page, total, parameters }),
  });
}

/** What one hit may answer without spoiling the page; a service that is away altogether does not answer by hits. */
const PASSED_OVER: ReadonlySet<string> = new Set(['not_found', 'forbidden', 'unavailable']);

/**
 * The hits in their order. Left out is what has gone since it was indexed or is no longer the caller's to see, and what
 * nothing can be said of because its publication is being decided.
 */
async function render(clients: Clients, hits: readonly Hit__Output[], call: Call): Promise<Json[]> {
  const rendered = new Map<string, Json>();
  await Promise.all(
    KINDS.map(async (kind) => {
      const refs = hits
        .filter((hit) => hit.kind === kind)
        .map(({ id, isDraft }) => ({ id, form: formOf(isDraft) }));
      if (refs.length === 0) return;
      const { results } = await clients.lifecycle[kind].readEntities({ refs }, call.principal, {
        signal: call.signal,
      });
      for (const { document, error } of results) {
        if (document) rendered.set(keyOf(kind, document), entityJson(document, kind, call.baseUrl));
        else if (error && !PASSED_OVER.has(error.kind)) throw fromErrorDetail(error);
      }
    }),
  );
  return hits
    .map(({ kind, id, isDraft }) => rendered.get(`${kind} ${id} ${formOf(isDraft)}`))
    .filter((entity) => entity !== undefined);
}

function keyOf(kind: Kind, { id, form }: EntityDocument__Output): string {
  return `${kind} ${id} ${form}`;
}

function formOf(isDraft: boolean): 'FORM_DRAFT' | 'FORM_PUBLISHED' {
  return isDraft ? 'FORM_DRAFT' : 'FORM_PUBLISHED';
}
