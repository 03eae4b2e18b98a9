import type { EntityDocument__Output, SearchRequest, SearchResponse__Output } from '@kr/contracts';
import { fromErrorDetail } from '@kr/rpc';
import { ServiceError } from '@kr/service-error';
import type { Clients } from '../clients.ts';
import { type Call, type JsonReply, json } from '../http/endpoint.ts';
import { KINDS, type Kind } from '../kind.ts';
import { entityJson, type Json } from '../rendering/entity-json.ts';
import type { Links } from '../rendering/links.ts';
import { cursorLinks, pageLinks } from './page-links.ts';
import type { SearchQuery } from './search-query.ts';

/** Adds the engine time of a search to the rate-limit cost of the request, also when it failed. */
export async function chargeSearch<Answer extends { engineMs: number }>(
  { addCost, signal }: Pick<Call, 'addCost' | 'signal'>,
  search: () => Promise<Answer>,
): Promise<Answer> {
  const begun = performance.now();
  try {
    const answer = await search();
    addCost(answer.engineMs);
    return answer;
  } catch (error) {
    // After a client has left, its search runs on in the engine.
    const elapsedMs = signal.aborted ? performance.now() - begun : 0;
    addCost((error instanceof ServiceError ? error.usedMs : undefined) ?? elapsedMs);
    throw error;
  }
}

/** The scope of a listing beside its query, and what is known about unsent events for it. */
export type Scope = Pick<
  SearchRequest,
  'listing' | 'kinds' | 'onlyIds' | 'publishedIds' | 'sentBy' | 'mayLeaveUnasked'
>;

/** The service of each kind, as the search service names it. */
const SERVICES = { record: 'records', package: 'packages' } as const satisfies Record<Kind, string>;

/** The body of a listing. */
interface FoundListing {
  hits: { hits: Json[]; total: number };
  aggregations: unknown;
  sortBy: string;
  links: Links;
}

/** Whether a service that this request queried has unsent events. */
export function unsentEventsOf(
  kind: Kind,
  { hasUnsent }: { hasUnsent: boolean },
): Pick<Scope, 'sentBy' | 'mayLeaveUnasked'> {
  return hasUnsent ? { mayLeaveUnasked: false } : { sentBy: [SERVICES[kind]] };
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
  const request = { mayLeaveUnasked: true, ...scope, ...query };
  const { found, rendered } =
    (await upToDate(await findPage(clients, request, call), clients, call)) ??
    (await findPage(clients, { ...request, mayLeaveUnasked: false }, call));
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
    hits: { hits: rendered, total },
    aggregations: found.aggregationsJson.length === 0 ? {} : JSON.parse(found.aggregationsJson.toString()),
    sortBy: found.sortBy,
    links:
      cursor === ''
        ? pageLinks(url, { size, page, total, parameters, isNextTooFar: found.isNextTooFar })
        : cursorLinks(url, { cursor, nextCursor: found.nextCursor, size, parameters }),
  };
  return { ...json(200, body), body };
}

interface Page {
  found: SearchResponse__Output;
  rendered: Json[];
  /** Whether a service that the search had not queried has unsent events, or did not answer. */
  hasUnsent: boolean;
}

async function findPage(clients: Clients, request: SearchRequest, call: Call): Promise<Page> {
  const { caller, principal, signal } = call;
  const found = await chargeSearch(call, () =>
    clients.search.search({ ...request, caller }, principal, { signal }),
  );
  return { found, ...(await render(clients, found, call)) };
}

/**
 * The page, unless a write before the request may be missing from it: when the page was rendered, all events were in the
 * stream, and the stream had not grown since the search.
 */
async function upToDate(page: Page, { search }: Clients, call: Call): Promise<Page | undefined> {
  const { unasked, streamEnd } = page.found;
  if (unasked.length === 0) return page;
  if (page.hasUnsent) return undefined;
  const { isConfirmed } = await search.confirmSearch({ streamEnd }, call.principal, { signal: call.signal });
  return isConfirmed ? page : undefined;
}

/** Errors that concern one hit only; an unavailable service fails the whole page. */
const PASSED_OVER: ReadonlySet<string> = new Set(['not_found', 'gone', 'forbidden', 'unavailable']);

/** A service that does not answer may have unsent events. */
const SILENT = { results: [], hasUnsent: true };

/** The hits in their order, except entities that were deleted or restricted since they were indexed, or are being published. */
async function render(
  clients: Clients,
  { hits, unasked }: SearchResponse__Output,
  call: Call,
): Promise<Pick<Page, 'rendered' | 'hasUnsent'>> {
  const rendered = new Map<string, Json>();
  let hasUnsent = false;
  await Promise.all(
    KINDS.map(async (kind) => {
      const refs = hits
        .filter((hit) => hit.kind === kind)
        .map(({ id, isDraft }) => ({ id, form: formOf(isDraft) }));
      const looksAtOutbox = unasked.includes(SERVICES[kind]);
      if (refs.length === 0 && !looksAtOutbox) return;
      const answering = clients.lifecycle[kind].readEntities({ refs, looksAtOutbox }, call.principal, {
        signal: call.signal,
      });
      // Whom the page shows nothing of need not be there.
      const answer = await (refs.length === 0 ? answering.catch(() => SILENT) : answering);
      hasUnsent ||= answer.hasUnsent;
      for (const { document, error } of answer.results) {
        if (document) rendered.set(keyOf(kind, document), entityJson(document, kind, call));
        else if (error && !PASSED_OVER.has(error.kind)) throw fromErrorDetail(error);
      }
    }),
  );
  return {
    hasUnsent,
    rendered: hits
      .map(({ kind, id, isDraft }) => rendered.get(`${kind} ${id} ${formOf(isDraft)}`))
      .filter((entity) => entity !== undefined),
  };
}

function keyOf(kind: Kind, { id, form }: EntityDocument__Output): string {
  return `${kind} ${id} ${form}`;
}

function formOf(isDraft: boolean): 'FORM_DRAFT' | 'FORM_PUBLISHED' {
  return isDraft ? 'FORM_DRAFT' : 'FORM_PUBLISHED';
}
