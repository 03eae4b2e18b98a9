import {
  type EntityDocument__Output,
  FORM_NAMES,
  type Form,
  type SearchRequest,
  type SearchResponse__Output,
} from '@kr/contracts';
import { fromErrorDetail } from '@kr/rpc';
import { ServiceError } from '@kr/service-error';
import type { Clients } from '../clients.ts';
import { type Call, type JsonReply, json } from '../http/endpoint.ts';
import { KINDS, type Kind } from '../kind.ts';
import { entityJson, type Json } from '../rendering/entity-json.ts';
import type { Links } from '../rendering/links.ts';
import { cursorLinks, pageLinks } from '../rendering/page-links.ts';
import type { SearchQuery } from './search-query.ts';

/** Adds the engine time of a search to the rate-limit cost of the request, also when it failed. */
export async function chargeSearch<Answer extends { engineMs: number }>(
  { addCost, signal }: Pick<Call, 'addCost' | 'signal'>,
  search: () => Promise<Answer>,
): Promise<Answer> {
  const startedAt = performance.now();
  try {
    const answer = await search();
    addCost(answer.engineMs);
    return answer;
  } catch (error) {
    // After a client has left, its search runs on in the engine.
    const elapsedMs = signal.aborted ? performance.now() - startedAt : 0;
    addCost((error instanceof ServiceError ? error.usedMs : undefined) ?? elapsedMs);
    throw error;
  }
}

/** The scope of a listing beside its query. */
export type Scope = Pick<SearchRequest, 'listing' | 'kinds' | 'onlyIds' | 'publishedIds'>;

/** The body of a listing. */
interface FoundListing {
  hits: { hits: Json[]; total: number };
  aggregations: unknown;
  sortBy: string;
  links: Links;
}

/**
 * One page of a listing: the search service names the hits, their services render them as their own routes would.
 *
 * @throws ServiceError `invalid`: a query, sort, cursor or box that the search service refuses
 */
export async function findEntities(
  clients: Clients,
  scope: Scope,
  query: SearchQuery,
  call: Call,
): Promise<JsonReply & { body: FoundListing }> {
  const { size, page, cursor, q, bbox, allVersions } = query;
  const { requesterId, principal, signal } = call;
  const request = { ...scope, ...query, caller: requesterId };
  const found = await chargeSearch(call, () => clients.search.search(request, principal, { signal }));
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
  const url = `${call.baseUrl}${call.path}`;
  const body: FoundListing = {
    hits: { hits: await render(clients, found, call), total },
    aggregations: found.aggregationsJson.length === 0 ? {} : JSON.parse(found.aggregationsJson.toString()),
    sortBy: found.sortBy,
    links:
      cursor === ''
        ? pageLinks(url, { size, page, total, parameters, isNextTooFar: found.isNextTooFar })
        : cursorLinks(url, { cursor, nextCursor: found.nextCursor, size, parameters }),
  };
  return json(200, body);
}

/** Errors of one hit. `unavailable`: its publication is undecided; if its whole service is unavailable, `readEntities` throws. */
const SKIPPED: ReadonlySet<string> = new Set(['not_found', 'gone', 'forbidden', 'unavailable']);

/** The hits in their order, except entities that were deleted or restricted since they were indexed, or are being published. */
async function render(clients: Clients, { hits }: SearchResponse__Output, call: Call): Promise<Json[]> {
  const rendered = new Map<string, Json>();
  await Promise.all(
    KINDS.map(async (kind) => {
      const refs = hits
        .filter((hit) => hit.kind === kind)
        .map(({ id, isDraft }) => ({ id, form: formName(isDraft) }));
      if (refs.length === 0) return;
      const { principal, signal } = call;
      const { results } = await clients.lifecycle[kind].readEntities({ refs }, principal, { signal });
      for (const { document, error } of results) {
        if (document) rendered.set(keyOf(kind, document), entityJson(document, kind, call));
        else if (error && !SKIPPED.has(error.kind)) throw fromErrorDetail(error);
      }
    }),
  );
  return hits
    .map(({ kind, id, isDraft }) => rendered.get(`${kind} ${id} ${formName(isDraft)}`))
    .filter((entity) => entity !== undefined);
}

function keyOf(kind: Kind, { id, form }: EntityDocument__Output): string {
  return `${kind} ${id} ${form}`;
}

function formName(isDraft: boolean): Form {
  return isDraft ? FORM_NAMES.draft : FORM_NAMES.published;
}
