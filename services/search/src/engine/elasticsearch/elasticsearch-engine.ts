import { randomUUID } from 'node:crypto';
import { Client, type estypes } from '@elastic/elasticsearch';
import { ServiceError } from '@kr/service-error';
import type pg from 'pg';
import { assertActive, openPool } from '../active-index.ts';
import { inTurn } from '../postgres/write-changes.ts';
import type { EntityKind, SearchEngine } from '../search-engine.ts';
import { searchTimeout } from '../search-engine.ts';
import { buildWriter } from './build-documents.ts';
import { compareDocuments } from './compare-documents.ts';
import { decideChanges, decideMending } from './decide-changes.ts';
import {
  aboutForms,
  announceAll,
  copyMarks,
  documentPages,
  keepBackAsIn,
  LIVE,
  readHeads,
  refresh,
  removeMarks,
  writeDecided,
} from './documents.ts';
import { engineFailure, isOfExchange, searchFailure } from './engine-failure.ts';
import type { IndexSize } from './index-layout.ts';
import {
  createIndex,
  exchange,
  indexBehind,
  indexNames,
  openLiveIndex,
  readMeta,
  removeUnaliased,
  writeMeta,
} from './live-index.ts';
import { readAnswer, type SearchResponse, searchRequest } from './search-request.ts';
import { microsOf } from './stored-document.ts';
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
  /** Milliseconds one search may take. */
  searchTimeoutMs: number;
  /** Connections for searches; writes have two separate ones. */
  maxConnections: number;
  /**
   * The service's database: writers of the index are serialised by a lock in it, and it has the name of the
   * maintained index.
   */
  databaseUrl: string;
}

/** Writes may be large, and wait for the disk. */
const WRITE_TIMEOUT_MS = 60_000;

/**
 * Full-text search in Elasticsearch. The words of documents and queries are made here, so that it finds what the other
 * engines find; Elasticsearch compares them and counts.
 *
 * @throws Error when Elasticsearch cannot be reached
 */
export async function openElasticsearchEngine({
  url,
  login,
  indexPrefix,
  size,
  searchTimeoutMs,
  maxConnections,
  databaseUrl,
}: ElasticsearchEngineOptions): Promise<SearchEngine & { stop(): Promise<void> }> {
  const access = { node: url.href, ...(login === null ? {} : { auth: login }) };
  const reader = new Client({ ...access, maxRetries: 1, agent: { connections: maxConnections } });
  const writer = new Client({
    ...access,
    maxRetries: 1,
    agent: { connections: 2 },
    requestTimeout: WRITE_TIMEOUT_MS,
  });
  const turns = openPool({ connectionString: databaseUrl, max: 2 });
  // Apart, for searches do not wait for the turns of writers.
  const askedBySearches = openPool({
    connectionString: databaseUrl,
    max: 2,
    statement_timeout: searchTimeoutMs,
    connectionTimeoutMillis: searchTimeoutMs,
  });
  const names = indexNames(indexPrefix);

  /** The index that this process has opened; another process may have replaced it since. */
  let keptUp = '';
  const inOrder = async (work: (database: pg.PoolClient) => Promise<void>) => {
    const inOwnTurn = async (database: pg.PoolClient) => {
      await assertActive(database, keptUp);
      await work(database);
    };
    await inTurn(turns, inOwnTurn).catch((cause: unknown) => {
      throw engineFailure(cause);
    });
  };
  /** Searches of one process go to one copy of the index, so that none sees less than the one before. */
  const preference = randomUUID();
  const search = async <Response>(request: estypes.SearchRequest, timeoutMs: number): Promise<Response> => {
    const given = { index: names.live, preference, allow_partial_search_results: false };
    const asked = { ...request, ...given, timeout: `${timeoutMs}ms` };
    const limits = { signal: AbortSignal.timeout(timeoutMs), requestTimeout: timeoutMs };
    const answering = reader
      .search(asked, limits)
      .catch((cause: unknown) => {
        if (isOfExchange(cause)) return reader.search(asked, limits);
        throw cause;
      })
      .catch((cause: unknown) => {
        throw searchFailure(cause);
      });
    // Another engine, which does not know this one, may have taken over; Elasticsearch itself has no record
    // of it.
    const [response] = await Promise.all([answering, assertActive(askedBySearches, keptUp).catch(untold)]);
    if (response.timed_out) throw searchTimeout();
    return response as Response;
  };
  const asking = async <Answer>(question: () => Promise<Answer>): Promise<Answer> =>
    question().catch((cause: unknown) => {
      throw engineFailure(cause);
    });

  /** The one that is being built, if there is one, and then the live one. */
  const theIndexes = async () => {
    const build = await indexBehind(writer, names.build);
    return build === undefined ? [names.live] : [build, names.live];
  };
  const writeAll = async (
    about: Parameters<typeof writeDecided>[2],
    decide: Parameters<typeof writeDecided>[3],
  ) => {
    for (const index of await theIndexes()) {
      await writeDecided(writer, index, about, decide, { isSearched: index === names.live });
      // Now all of it is seen, at once.
      await refresh(writer, index);
    }
  };
  const demandBuild = async (id: string) => {
    if ((await indexBehind(writer, names.build)) !== id)
      throw new Error(`the index ${id} is not being built`);
  };
  const build = buildWriter(writer, (id, work) =>
    inOrder(async () => {
      await demandBuild(id);
      await work();
    }),
  );
  const isLive = async (buildId: string) => (await indexBehind(writer, names.live)) === buildId;

  const stop = async () => {
    await Promise.all([reader.close(), writer.close(), turns.end(), askedBySearches.end()]);
  };
  try {
    await inTurn(turns, async (database) => {
      keptUp = await openLiveIndex(writer, names, { size, database });
    }).catch((cause: unknown) => {
      throw engineFailure(cause);
    });
  } catch (error) {
    await stop();
    throw error;
  }

  return {
    name: 'elasticsearch',
    search: async (asked, timeoutMs = searchTimeoutMs) =>
      readAnswer(asked, await search<SearchResponse>(searchRequest(asked), timeoutMs)),
    suggest: async (asked, timeoutMs = searchTimeoutMs) => {
      const endsAt = performance.now() + timeoutMs;
      const values = await search<SuggestResponse>(suggestRequest(asked), timeoutMs);
      const request = sourcesRequest(values);
      if (request === undefined) return [];
      const leftMs = Math.max(1, Math.floor(endsAt - performance.now()));
      return readSuggestions(values, await search<SourcesResponse>(request, leftMs));
    },
    write: async (changes) => {
      const { entities = [], unannounced = [], tombstones = [] } = changes;
      const forms = [...entities, ...unannounced, ...tombstones];
      if (forms.length === 0) return;
      await inOrder(() => writeAll(aboutForms(forms), (heads) => decideChanges(heads, changes, new Date())));
    },
    kindsOf: (ids) =>
      asking(async () => {
        const kinds = new Map<string, EntityKind>();
        const about = { query: { terms: { id: [...ids] } }, fields: ['id', 'kind'] };
        for await (const page of documentPages<{ id: string; kind: EntityKind }>(writer, names.live, about)) {
          for (const { _source } of page) if (_source !== undefined) kinds.set(_source.id, _source.kind);
        }
        return kinds;
      }),
    withPassedEmbargo: (now, afterId, limit) =>
      asking(async () => {
        const { hits } = await writer.search<{ id: string; kind: EntityKind }>({
          index: names.live,
          query: {
            bool: {
              filter: [
                LIVE,
                { range: { embargoUntil: { lte: microsOf(now.toISOString()) } } },
                { range: { id: { gt: afterId } } },
              ],
            },
          },
          collapse: { field: 'id' },
          sort: [{ id: 'asc' }],
          size: limit,
          _source: ['id', 'kind'],
        });
        return hits.hits.flatMap(({ _source }) => (_source === undefined ? [] : [_source]));
      }),
    deleteOldTombstones: (writtenBefore) =>
      inOrder(async () => {
        for (const index of await theIndexes()) await removeMarks(writer, index, writtenBefore);
      }),
    isFilled: () =>
      asking(async () => {
        await assertActive(turns, keptUp);
        return (await readMeta(writer, names.live)).isFilled;
      }),
    markFilled: () =>
      inOrder(async () => {
        for (const index of await theIndexes()) await announceAll(writer, index);
        await writeMeta(writer, names.live, { ...(await readMeta(writer, names.live)), isFilled: true });
      }),
    count: () => asking(async () => (await writer.count({ index: names.live, query: LIVE })).count),
    beginBuild: async () => {
      let index = '';
      await inOrder(async () => {
        ({ index } = await createIndex(writer, names, 'build', size));
        await refresh(writer, names.live);
        await copyMarks(writer, names.live, index);
      });
      return index;
    },
    build,
    finishBuild: (id) =>
      inOrder(async () => {
        if (!(await isLive(id))) {
          await demandBuild(id);
          await keepBackAsIn(writer, names.live, id);
          await refresh(writer, id);
          await writeMeta(writer, id, await readMeta(writer, names.live));
          await exchange(writer, names, id);
        }
        await removeUnaliased(writer, names);
      }),
    isLive: (buildId) => asking(() => isLive(buildId)),
    listIds: (kind, afterId, limit) =>
      asking(async () => {
        const { hits } = await writer.search<{ id: string }>({
          index: names.live,
          query: { bool: { filter: [LIVE, { term: { kind } }, { range: { id: { gt: afterId } } }] } },
          collapse: { field: 'id' },
          sort: [{ id: 'asc' }],
          size: limit,
          _source: ['id'],
        });
        return hits.hits.flatMap(({ _source }) => (_source === undefined ? [] : [_source.id]));
      }),
    compare: (kind, ids, entities) =>
      asking(() => compareDocuments(writer, names.live, { kind, ids, entities })),
    mend: (differences, entities) =>
      inOrder(() =>
        writeAll(
          async (index) => {
            const forms = [...differences, ...entities];
            // Siblings of a parent that something was wrongly put under are to learn that it is not theirs.
            const heads = await readHeads(writer, index, aboutForms(forms));
            return aboutForms([...forms, ...heads.values()]);
          },
          (heads) => decideMending(heads, differences, entities, new Date()),
        ),
      ),
    stop,
  };
}

/** The error that another index is maintained is passed on; other errors leave this unknown. */
function untold(cause: unknown): never {
  if (cause instanceof ServiceError) throw cause;
  throw new ServiceError('unavailable', 'The search service cannot reach its database.', {
    retryAfterMs: 1_000,
    cause,
  });
}
