import { randomUUID } from 'node:crypto';
import { Client, type estypes } from '@elastic/elasticsearch';
import { ServiceError } from '@kr/service-error';
import type { Deadline } from '../deadline.ts';
import { type Answered, type SearchEngine, searchTimeout } from '../search-engine.ts';
import { execute, executeStaged, NOT_DELETED, readHeads, readStates, refresh } from './documents.ts';
import { engineFailure, searchFailure } from './engine-failure.ts';
import { createIndex, type IndexSize, indexOf, LAYOUT, listGenerations } from './index-layout.ts';
import { readAnswer, type SearchResponse, searchRequest } from './search-request.ts';
import { encodeRow, type StoredContent } from './stored-document.ts';
import {
  readSuggestions,
  type SourcesResponse,
  type SuggestResponse,
  sourcesRequest,
  suggestRequest,
} from './suggest-request.ts';

export interface ElasticsearchEngineOptions {
  url: URL;
  /** Null without authentication. */
  login: { apiKey: string } | null;
  /** The prefix of its indexes' names. */
  indexPrefix: string;
  size: IndexSize;
  /** Connections for searches; writes have two separate ones. */
  maxConnections: number;
  /** The id of the live generation. */
  readLive: () => Promise<string | null>;
}

/** Writes may be large, and wait for the disk. */
const WRITE_TIMEOUT_MS = 60_000;
/** Less than a health check may take. */
const CHECK_TIMEOUT_MS = 1_500;

export interface ElasticsearchEngine extends SearchEngine<StoredContent> {
  /** @throws Error when Elasticsearch does not answer in time, or a generation is not there */
  check(generation: string): Promise<void>;
}

/**
 * Full-text search in Elasticsearch. The service tokenises documents and queries, so that both engines find the same;
 * Elasticsearch compares the tokens and counts. A generation is an index.
 */
export function elasticsearchEngine({
  url,
  login,
  indexPrefix,
  size,
  maxConnections,
  readLive,
}: ElasticsearchEngineOptions): ElasticsearchEngine {
  const clientOf = (connections: number, requestTimeout: number, maxRetries = 1) =>
    new Client({
      node: url.href,
      ...(login === null ? {} : { auth: login }),
      maxRetries,
      agent: { connections },
      requestTimeout,
    });
  const reader = clientOf(maxConnections, WRITE_TIMEOUT_MS);
  const writer = clientOf(2, WRITE_TIMEOUT_MS);
  // Searches and writes may be waiting for their connections.
  const checker = clientOf(1, CHECK_TIMEOUT_MS, 0);
  const indexNamed = (generation: string) => indexOf(indexPrefix, generation);
  const unrefreshed = unrefreshedParents();

  /** Searches of one process go to one copy of the index, so that none sees less than the one before. */
  const preference = randomUUID();
  const query = async <Response>(
    generation: string,
    request: estypes.SearchRequest,
    deadline: Deadline,
  ): Promise<Response> => {
    const timeoutMs = deadline.leftMs();
    if (timeoutMs === 0) throw searchTimeout();
    const target = { index: indexNamed(generation), preference, allow_partial_search_results: false };
    const response = await reader
      .search(
        { ...request, ...target, timeout: `${timeoutMs}ms` },
        { signal: AbortSignal.timeout(timeoutMs), requestTimeout: timeoutMs },
      )
      .catch((cause: unknown) => {
        throw searchFailure(cause);
      });
    if (response.timed_out) throw searchTimeout();
    return response as Response;
  };
  /** Elasticsearch has no record of the live generation. */
  const withLive = async <Answer>(answering: Promise<Answer>): Promise<Answered<Answer>> => {
    const [answer, live] = await Promise.all([answering, readLive().catch(unknownState)]);
    return { answer, live };
  };
  const writing = <Result>(work: () => Promise<Result>): Promise<Result> =>
    work().catch((cause: unknown) => {
      throw engineFailure(cause);
    });

  return {
    name: 'elasticsearch',
    layout: LAYOUT,
    encode: encodeRow,
    search: (generation, search, deadline) =>
      withLive(
        query<SearchResponse>(generation, searchRequest(search), deadline).then((response) =>
          readAnswer(search, response),
        ),
      ),
    suggest: (generation, suggest, deadline) => {
      const answer = async () => {
        const values = await query<SuggestResponse>(generation, suggestRequest(suggest), deadline);
        const request = sourcesRequest(values);
        if (request === undefined) return [];
        return readSuggestions(values, await query<SourcesResponse>(generation, request, deadline));
      };
      return withLive(answer());
    },
    heads: (generation, about, write) =>
      writing(async () => {
        const index = indexNamed(generation);
        if (write !== null && (!write.isBulk || unrefreshed.mayHave(index, about.parentIds))) {
          // Also the unrefreshed writes of a writer that failed.
          await refresh(writer, index);
          unrefreshed.clear(index);
        }
        return readHeads(writer, index, about);
      }),
    states: (generation, filter, after, limit) =>
      writing(() => readStates(writer, indexNamed(generation), filter, after, limit)),
    apply: (generation, operations, { isBulk }) =>
      writing(async () => {
        const index = indexNamed(generation);
        if (isBulk) {
          unrefreshed.add(
            index,
            operations.map(({ head }) => head.parentId),
          );
          return execute(writer, index, operations);
        }
        const isDone = await executeStaged(writer, index, operations);
        await refresh(writer, index);
        return isDone;
      }),
    count: (generation) =>
      writing(async () => (await writer.count({ index: indexNamed(generation), query: NOT_DELETED })).count),
    create: (generation) => writing(() => createIndex(writer, indexPrefix, generation, size)),
    seal: (generation) => writing(() => refresh(writer, indexNamed(generation))),
    list: () => writing(() => listGenerations(writer, indexPrefix)),
    drop: (generation) =>
      writing(async () => {
        await writer.indices.delete({ index: indexNamed(generation), ignore_unavailable: true });
      }),
    check: async (generation) => {
      if (!(await checker.indices.exists({ index: indexNamed(generation) })))
        throw new Error(`there is no ${indexNamed(generation)}`);
    },
    stop: async () => {
      await Promise.all([reader.close(), writer.close(), checker.close()]);
    },
  };
}

/** A refresh shows all of them at once. */
const MAX_UNREFRESHED = 5_000;

/**
 * Parents of documents that bulk writes have added since the last refresh of an index. A refresh costs as much as writing some
 * hundred documents, so it is done only before siblings of such documents.
 */
function unrefreshedParents() {
  let index = '';
  let parentIds = new Set<string>();
  return {
    mayHave: (name: string, ids: readonly string[]): boolean =>
      name !== index || parentIds.size > MAX_UNREFRESHED || ids.some((id) => parentIds.has(id)),
    add: (name: string, written: readonly string[]): void => {
      if (name !== index) return;
      for (const id of written) parentIds.add(id);
    },
    clear: (name: string): void => {
      index = name;
      parentIds = new Set();
    },
  };
}

function unknownState(cause: unknown): never {
  throw new ServiceError('unavailable', 'The search service cannot reach its database.', {
    retryAfterMs: 1_000,
    cause,
  });
}
