import type { Client, estypes } from '@elastic/elasticsearch';
import { ServiceError } from '@kr/service-error';
import type { Query } from './compile-query.ts';
import {
  decideAnnouncement,
  decideKeptBack,
  FLAGS,
  type Head,
  isSame,
  type Operation,
  type Standing,
} from './decide-changes.ts';
import { documentId, type StoredFlags, type StoredMark } from './stored-document.ts';

export const LIVE = { term: { isLive: true } } satisfies Query;

/** Hits of one request; further ones are read page by page. */
const PAGE = 1_000;

/** Of the bodies of one bulk request. */
const BULK_BYTES = 20_000_000;

/** The documents of these forms, and their siblings. */
export function aboutForms(forms: readonly { id: string; parentId: string }[]): Query {
  const distinct = (values: readonly string[]) => [...new Set(values)];
  return {
    bool: {
      should: [
        { terms: { id: distinct(forms.map(({ id }) => id)) } },
        { terms: { parentId: distinct(forms.map(({ parentId }) => parentId)) } },
      ],
      minimum_should_match: 1,
    },
  };
}

export interface WantedDocuments {
  query: Query;
  fields: readonly string[] | 'all';
}

/** All documents of a query as they were at the last refresh, by id and form, in pages. */
export async function* documentPages<Source>(
  client: Client,
  index: string,
  { query, fields }: WantedDocuments,
): AsyncGenerator<estypes.SearchHit<Source>[]> {
  let after: estypes.SortResults | undefined;
  do {
    const { hits } = await client.search<Source>({
      index,
      query: { constant_score: { filter: query } },
      size: PAGE,
      sort: [{ id: 'asc' }, { form: 'asc' }],
      seq_no_primary_term: true,
      _source: fields === 'all' ? true : [...fields],
      allow_partial_search_results: false,
      ...(after === undefined ? {} : { search_after: after }),
    });
    yield hits.hits;
    after = hits.hits.length < PAGE ? undefined : hits.hits.at(-1)?.sort;
  } while (after !== undefined);
}

const HEAD_FIELDS = ['id', 'form', 'kind', 'parentId', 'revision', 'versionIndex', ...FLAGS] as const;

export async function readHeads(client: Client, index: string, query: Query): Promise<Map<string, Head>> {
  const heads = new Map<string, Head>();
  for await (const page of documentPages<Omit<Head, 'standing'>>(client, index, {
    query,
    fields: HEAD_FIELDS,
  })) {
    for (const head of page.flatMap(headOf)) heads.set(documentId(head), head);
  }
  return heads;
}

/** Marks have no version. */
function headOf({ _source, _seq_no, _primary_term }: estypes.SearchHit<Omit<Head, 'standing'>>): Head[] {
  if (_source === undefined || _seq_no === undefined || _primary_term === undefined) return [];
  return [
    {
      ..._source,
      versionIndex: _source.versionIndex ?? 0,
      standing: { seqNo: _seq_no, primaryTerm: _primary_term },
    },
  ];
}

/**
 * Executes operations; they are visible after the next refresh. New documents are written as hidden, and
 * shown, by flags alone, when all contents have been accepted: an early refresh, by the next writer after one
 * that failed, shows no part of an incomplete batch. In an index without searches all is written at once.
 * @returns false when a document has changed since it was read, or Elasticsearch was overloaded: the remaining
 * operations must be decided again
 * @throws Error when a document is refused
 */
async function carryOut(
  client: Client,
  index: string,
  operations: readonly Operation[],
  { isSearched } = { isSearched: true },
): Promise<boolean> {
  // One document alone is there or not.
  if (operations.length <= 1 || !isSearched) return (await runBulks(client, index, operations)) !== null;
  const contents = operations.flatMap((final) =>
    isContent(final) ? [{ final, first: keptBack(final) }] : [],
  );
  const written = await runBulks(
    client,
    index,
    contents.map(({ first }) => first),
  );
  if (written === null) return false;
  const showing = contents.flatMap(({ final, first }): Operation[] => {
    if (isSame(final.flags, first.flags)) return [];
    return [{ ...final, standing: written.get(final.documentId) ?? null, change: 'flags' }];
  });
  const others = operations.filter((operation) => !isContent(operation));
  return (await runBulks(client, index, [...others, ...showing])) !== null;
}

function isContent({ change, flags }: Operation): boolean {
  return typeof change === 'object' && flags.isLive;
}

/** Its content, as long as the rest of its batch is not there. */
function keptBack(operation: Operation): Operation {
  const { former, flags } = operation;
  const wasSeen = former?.isLive === true && former.isAnnounced;
  return { ...operation, flags: wasSeen ? former : { ...flags, isAnnounced: false } };
}

/**
 * @returns the present version of each document; null when one has changed since it was read, or on overload
 */
async function runBulks(
  client: Client,
  index: string,
  operations: readonly Operation[],
): Promise<Map<string, Standing> | null> {
  const standings = new Map<string, Standing>();
  let isDone = true;
  for (const body of bulkBodies(operations)) {
    const { items } = await client.bulk<string>({ index, operations: body });
    for (const item of items) {
      const { _id, error, status, _seq_no, _primary_term } = Object.values(item)[0] ?? {};
      if (error && status !== 404 && status !== 409 && status !== 429) {
        throw new Error(`a document was refused: ${JSON.stringify(error)}`);
      }
      if (error || _id == null || _seq_no === undefined || _primary_term === undefined) isDone = false;
      else standings.set(_id, { seqNo: _seq_no, primaryTerm: _primary_term });
    }
  }
  return isDone ? standings : null;
}

function* bulkBodies(operations: readonly Operation[]): Generator<string[]> {
  let lines: string[] = [];
  let bytes = 0;
  for (const operation of operations) {
    const further = bulkLines(operation);
    lines.push(...further);
    bytes += further.reduce((sum, line) => sum + line.length, 0);
    if (bytes < BULK_BYTES) continue;
    yield lines;
    lines = [];
    bytes = 0;
  }
  if (lines.length > 0) yield lines;
}

function bulkLines({ documentId: _id, standing, change, flags }: Operation): string[] {
  const at = standing === null ? {} : { if_seq_no: standing.seqNo, if_primary_term: standing.primaryTerm };
  const lines =
    change === 'remove'
      ? [{ delete: { _id, ...at } }]
      : change === 'flags'
        ? [{ update: { _id, ...at } }, { doc: flags }]
        : [
            standing === null ? { create: { _id } } : { index: { _id, ...at } },
            { ...change.whole, ...flags },
          ];
  return lines.map((line) => JSON.stringify(line));
}

/** Makes all writes visible. @throws ServiceError `unavailable`: a shard failed */
export async function refresh(client: Client, index: string): Promise<void> {
  const { _shards } = await client.indices.refresh({ index });
  if (_shards === undefined || _shards.failed === 0) return;
  throw new ServiceError('unavailable', 'A part of the index cannot be refreshed.', { retryAfterMs: 1_000 });
}

const MOST_ATTEMPTS = 10;

export interface WrittenIndex {
  isSearched: boolean;
  /** Whether all writes to these documents are readable without a refresh. */
  isRefreshed?: boolean;
}

/**
 * Reads, decides and writes until there was no conflict. The ids to read may depend on earlier reads.
 * @throws ServiceError `unavailable` when there always is one
 */
export async function writeDecided(
  client: Client,
  index: string,
  about: Query | ((index: string) => Promise<Query>),
  decide: (heads: Map<string, Head>) => Operation[],
  { isSearched, isRefreshed = false }: WrittenIndex = { isSearched: true },
): Promise<void> {
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
    // Also the unrefreshed writes of a writer that failed.
    if (attempt > 0 || !isRefreshed) await refresh(client, index);
    const query = typeof about === 'function' ? await about(index) : about;
    const operations = decide(await readHeads(client, index, query));
    if (await carryOut(client, index, operations, { isSearched })) return;
  }
  throw new ServiceError('unavailable', 'The index is being changed by somebody else.', {
    retryAfterMs: 1_000,
  });
}

const KEPT_BACK: Query = { bool: { filter: [LIVE, { term: { isAnnounced: false } }] } };

const PARENTS_AT_ONCE = 1_000;

/** Shows all hidden forms, at one moment: the writes are visible after the refresh at the end. */
export async function announceAll(client: Client, index: string): Promise<void> {
  await client.indices.refresh({ index });
  const parentIds = new Set<string>();
  for (const { parentId } of (await readHeads(client, index, KEPT_BACK)).values()) parentIds.add(parentId);
  const waiting = [...parentIds];
  while (waiting.length > 0) {
    const query: Query = { terms: { parentId: waiting.splice(0, PARENTS_AT_ONCE) } };
    // Each document once: it is not seen changed before the end.
    if (!(await carryOut(client, index, decideAnnouncement(await readHeads(client, index, query))))) {
      throw new ServiceError('unavailable', 'The index is being changed by somebody else.');
    }
  }
  await client.indices.refresh({ index });
}

/** Writes the marks of one index into another, which is empty. */
export async function copyMarks(client: Client, from: string, to: string): Promise<void> {
  const about: WantedDocuments = { query: { bool: { must_not: [LIVE] } }, fields: 'all' };
  for await (const page of documentPages<StoredMark & StoredFlags>(client, from, about)) {
    const operations = page.flatMap(({ _source }): Operation[] => {
      if (_source === undefined) return [];
      const { isLive, isAnnounced, isLatest, isLatestDraft, hasDraft, ...whole } = _source;
      const flags = { isLive, isAnnounced, isLatest, isLatestDraft, hasDraft };
      return [{ documentId: documentId(whole), standing: null, former: null, change: { whole }, flags }];
    });
    await carryOut(client, to, operations);
  }
}

/** Hides in one index the forms that are hidden in another. */
export async function keepBackAsIn(client: Client, from: string, to: string): Promise<void> {
  const about = { query: KEPT_BACK, fields: ['id', 'form', 'parentId'] };
  for await (const page of documentPages<Parameters<typeof documentId>[0] & { parentId: string }>(
    client,
    from,
    about,
  )) {
    const found = page.flatMap(({ _source }) => _source ?? []);
    if (found.length === 0) continue;
    const query: Query = { terms: { parentId: [...new Set(found.map(({ parentId }) => parentId))] } };
    const keys = new Set(found.map(documentId));
    await writeDecided(client, to, query, (heads) => decideKeptBack(heads, keys));
  }
}

/** Removes marks that were written before an instant. */
export async function removeMarks(client: Client, index: string, writtenBefore: Date): Promise<void> {
  const query: Query = { range: { buriedAt: { lt: writtenBefore.getTime() } } };
  await writeDecided(client, index, query, (heads) =>
    [...heads].map(([key, { standing, ...flags }]) => ({
      documentId: key,
      standing,
      former: flags,
      change: 'remove',
      flags,
    })),
  );
}
