import type { Client, estypes } from '@elastic/elasticsearch';
import { ServiceError } from '@kr/service-error';
import {
  FLAGS,
  type Flags,
  flagsOf,
  type Head,
  type Heads,
  haveSameFlags,
  keyOf,
  type Operation,
  type StateFilter,
} from '../search-engine.ts';
import type { Query } from './compile-query.ts';
import { microsOf, type StoredContent } from './stored-document.ts';

export const NOT_DELETED = { term: { isDeleted: false } } satisfies Query;

/** Hits of one request. */
const PAGE = 1_000;

/** Size of one bulk request. */
const BULK_BYTES = 20_000_000;

const HEAD_FIELDS = [
  'id',
  'form',
  'kind',
  'parentId',
  'revision',
  'versionIndex',
  'contentHash',
  ...FLAGS,
] as const;

/** All forms of these ids and parents, as they were at the last refresh. */
export async function readHeads(
  client: Client,
  index: string,
  { ids, parentIds }: { ids: readonly string[]; parentIds: readonly string[] },
): Promise<Heads> {
  const should = [{ terms: { id: [...ids] } }, { terms: { parentId: [...parentIds] } }];
  const query = { bool: { should, minimum_should_match: 1 } };
  const heads = new Map<string, Head>();
  for (let after: Head | null | undefined = null; after !== undefined; ) {
    const page: Head[] = await readPage(client, index, query, after, PAGE);
    for (const head of page) heads.set(keyOf(head), head);
    after = page.length < PAGE ? undefined : page.at(-1);
  }
  return heads;
}

/** As `SearchEngine.states`, as they were at the last refresh. */
export async function readStates(
  client: Client,
  index: string,
  { kind, isDeleted, isStaged, embargoEndedBy, deletedBefore }: StateFilter,
  after: Pick<Head, 'id' | 'form'> | null,
  limit: number,
): Promise<Head[]> {
  const filter: Query[] = [
    ...(kind === undefined ? [] : [{ term: { kind } }]),
    ...(isDeleted === undefined ? [] : [{ term: { isDeleted } }]),
    ...(isStaged === undefined ? [] : [{ term: { isStaged } }]),
    ...(embargoEndedBy === undefined
      ? []
      : [{ range: { embargoUntil: { lte: microsOf(embargoEndedBy.toISOString()) } } }]),
    ...(deletedBefore === undefined ? [] : [{ range: { deletedAt: { lt: deletedBefore.getTime() } } }]),
  ];
  return readPage(client, index, { bool: { filter } }, after, limit);
}

async function readPage(
  client: Client,
  index: string,
  filter: Query,
  after: Pick<Head, 'id' | 'form'> | null,
  size: number,
): Promise<Head[]> {
  const { hits } = await client.search<Omit<Head, 'version'>>({
    index,
    query: { constant_score: { filter } },
    size,
    sort: [{ id: 'asc' }, { form: 'asc' }],
    seq_no_primary_term: true,
    _source: [...HEAD_FIELDS],
    allow_partial_search_results: false,
    ...(after === null ? {} : { search_after: [after.id, after.form] }),
  });
  return hits.hits.flatMap(readHead);
}

function readHead({ _source, _seq_no, _primary_term }: estypes.SearchHit<Omit<Head, 'version'>>): Head[] {
  if (_source === undefined || _seq_no === undefined || _primary_term === undefined) return [];
  return [{ ..._source, version: { seqNo: _seq_no, primaryTerm: _primary_term } }];
}

type DocumentOperation = Operation<StoredContent>;

/**
 * Executes operations; they are visible after the next refresh. New documents are written as staged, and
 * revealed, by flags alone, when all contents have been accepted: an early refresh, by the next writer after one
 * that failed, shows no part of an incomplete batch.
 * @returns false when a document has changed since it was read, or Elasticsearch was overloaded
 * @throws Error when a document is rejected
 */
export async function executeStaged(
  client: Client,
  index: string,
  operations: readonly DocumentOperation[],
): Promise<boolean> {
  // One document alone is visible or not.
  if (operations.length <= 1) return execute(client, index, operations);
  const contents = operations.flatMap((operation) =>
    typeof operation.change === 'object' ? [{ operation, first: staged(operation) }] : [],
  );
  const written = await runBulks(
    client,
    index,
    contents.map(({ first }) => first),
  );
  if (written === null) return false;
  const reveals = contents.flatMap(({ operation, first }): DocumentOperation[] => {
    const { head } = operation;
    if (haveSameFlags(head, first.head)) return [];
    return [{ ...operation, head: { ...head, version: written.get(keyOf(head)) ?? null }, change: 'flags' }];
  });
  const others = operations.filter(({ change }) => typeof change === 'string');
  return execute(client, index, [...others, ...reveals]);
}

/** As `executeStaged`, without order. */
export async function execute(
  client: Client,
  index: string,
  operations: readonly DocumentOperation[],
): Promise<boolean> {
  return (await runBulks(client, index, operations)) !== null;
}

/** The flags as long as the rest of the batch is missing. */
function staged(operation: DocumentOperation): DocumentOperation {
  const { former, head } = operation;
  const wasVisible = former !== null && !former.isDeleted && !former.isStaged;
  return { ...operation, head: { ...head, ...(wasVisible ? former : { isStaged: true }) } };
}

/** @returns the present version of each document; null when one has changed since it was read, or on overload */
async function runBulks(
  client: Client,
  index: string,
  operations: readonly DocumentOperation[],
): Promise<Map<string, Head['version']> | null> {
  const versions = new Map<string, Head['version']>();
  let isDone = true;
  for (const body of bulkBodies(operations)) {
    const { items } = await client.bulk<string>({ index, operations: body });
    for (const item of items) {
      const { _id, error, status, _seq_no, _primary_term } = Object.values(item)[0] ?? {};
      if (error && status !== 404 && status !== 409 && status !== 429)
        throw new Error(`a document was rejected: ${JSON.stringify(error)}`);
      if (error || _id == null || _seq_no === undefined || _primary_term === undefined) isDone = false;
      else versions.set(_id, { seqNo: _seq_no, primaryTerm: _primary_term });
    }
  }
  return isDone ? versions : null;
}

function* bulkBodies(operations: readonly DocumentOperation[]): Generator<string[]> {
  let lines: string[] = [];
  let bytes = 0;
  for (const operation of operations) {
    const further = bulkLines(operation).map((line) => JSON.stringify(line));
    lines.push(...further);
    bytes += further.reduce((sum, line) => sum + line.length, 0);
    if (bytes < BULK_BYTES) continue;
    yield lines;
    lines = [];
    bytes = 0;
  }
  if (lines.length > 0) yield lines;
}

function bulkLines({ head, change }: DocumentOperation): object[] {
  const { version, ...columns } = head;
  const _id = keyOf(head);
  const at = version === null ? {} : { if_seq_no: version.seqNo, if_primary_term: version.primaryTerm };
  const replace = version === null ? { create: { _id } } : { index: { _id, ...at } };
  if (change === 'remove') return [{ delete: { _id, ...at } }];
  if (change === 'flags') return [{ update: { _id, ...at } }, { doc: flagsOf(head) }];
  if (change === 'tombstone') return [replace, { ...columns, deletedAt: Date.now() }];
  const flags: Flags = flagsOf(head);
  return [replace, { ...change.content, ...flags }];
}

/** Makes all writes visible. @throws ServiceError `unavailable`: a shard failed */
export async function refresh(client: Client, index: string): Promise<void> {
  const { _shards } = await client.indices.refresh({ index });
  if (_shards === undefined || _shards.failed === 0) return;
  throw new ServiceError('unavailable', 'A part of the index cannot be refreshed.', { retryAfterMs: 1_000 });
}
