import { servicePrincipal } from '@kr/caller';
import { type Definitions, definitions } from '@kr/contracts';
import { sqlOn } from '@kr/database';
import { connectBus, startConsumer } from '@kr/event-bus';
import { openVocabularies } from '@kr/metadata';
import { type Callers, createClient, type Handlers } from '@kr/rpc';
import { type RunningService, startService } from '@kr/service-host';
import type { Logger } from '@kr/telemetry';
import type { SearchConfig } from './config.ts';
import { applyEvents, INDEXED_SUBJECTS } from './consume/apply-events.ts';
import { awaitIndex, awaitWrites } from './consume/await-writes.ts';
import { pauseUnlessStopped, withThrottle } from './consume/pages.ts';
import type { RefreshDeps } from './consume/refresh-listed.ts';
import { refreshEmbargoes } from './consume/refresh-listed.ts';
import { openIndex } from './open-index.ts';
import { openPool } from './open-pool.ts';
import { startOperations } from './operations/start-operations.ts';
import { SCHEMA } from './schema.ts';
import { backfillMissing } from './search/backfill-missing.ts';
import { engineTime, fairTurns } from './search/engine-time.ts';
import { search } from './search/search.ts';
import { suggest } from './search/suggest.ts';
import { lifecycleSource } from './sources/lifecycle-source.ts';

/** A batch costs as much as some ten documents; searches may be that much behind. */
const BATCH_EVERY_MS = 250;
const UPKEEP_INTERVAL_MS = 60_000;
/** For events of a whole build in flight; afterwards the check is repeated. */
const ARRIVAL_TIMEOUT_MS = 30_000;
/** Longer than the stream keeps events: no event older than a deleted tombstone can still arrive. */
const TOMBSTONE_LIFE_MS = 30 * 86_400_000;

const CALLERS: Callers<Definitions['search']> = {
  gateway: ['Search', 'Suggest', 'AwaitIndex'],
  operator: ['DescribeIndex', 'StartReindex', 'CheckDrift'],
};

/** @throws Error when the database is not there, a migration fails or a port is taken */
export async function startSearchService(config: SearchConfig, logger: Logger): Promise<RunningService> {
  return startService({ name: 'search', config, schema: SCHEMA, logger }, () => open(config, logger));
}

async function open(config: SearchConfig, logger: Logger) {
  const databaseUrl = config.databaseUrl.href;
  const folder = openVocabularies(config.vocabularyDir, (error) =>
    logger.error({ err: error }, 'vocabulary file ignored'),
  );

  const now = () => new Date();
  const stopping = new AbortController();
  const opened = await openIndex(config, logger);
  const { index, throttle } = withThrottle(opened.index, config.buildSharePercent, stopping.signal);
  const records = createClient(definitions.lifecycle, {
    ...config.records,
    audience: 'records',
    caller: 'search',
    defaultTimeoutMs: config.rpcDeadlineMs,
  });
  const packages = createClient(definitions.lifecycle, {
    ...config.packages,
    audience: 'packages',
    caller: 'search',
    defaultTimeoutMs: config.rpcDeadlineMs,
  });
  const source = lifecycleSource({ record: records, package: packages }, folder.vocabularies);

  const pool = openPool({ connectionString: databaseUrl, max: 2 });
  const bus = connectBus({ servers: config.natsUrls, name: 'search', logger });
  const database = sqlOn(pool);
  const consumer = startConsumer<(typeof INDEXED_SUBJECTS)[number]>({
    connection: bus,
    durable: 'search-index',
    subjects: INDEXED_SUBJECTS,
    handleBatch: (events) => applyEvents(index, source, events),
    batchEveryMs: BATCH_EVERY_MS,
    database,
    recover: () => operations.rebuild(),
    logger,
  });

  const sentBy = (client: typeof records) => async (timeoutMs: number) => {
    const wait = { timeoutMs: Math.max(1, Math.round(timeoutMs)) };
    return (await client.awaitEventsSent({}, servicePrincipal('search'), wait)).areSent;
  };
  const arrival = {
    senders: { record: sentBy(records), package: sentBy(packages) },
    consumer,
    checkBus: () => bus.check(),
  };

  const hasArrived = async () => {
    const areSent = await Promise.all(Object.values(arrival.senders).map((sent) => sent(ARRIVAL_TIMEOUT_MS)));
    return areSent.every(Boolean) && consumer.whenCaughtUp({ timeoutMs: ARRIVAL_TIMEOUT_MS });
  };
  const upkeep = keepUp({ index, source, logger, signal: stopping.signal }, now);

  const operations = startOperations({
    index,
    source,
    throttle,
    consumer,
    hasArrived,
    pool,
    databaseUrl,
    driftCheckEveryMs: config.driftCheckEveryMs,
    now,
    logger,
  });

  const { maxPageSize, window, queryLimits, maxSuggestions } = config;
  const limits = { maxPageSize, window, query: queryLimits };
  const turns = fairTurns(config.searchConnections);
  const openTime = engineTime({ turns, limitMs: config.searchTimeoutMs, elapsed: () => performance.now() });
  const searching = {
    vocabularies: folder.vocabularies,
    openTime,
    index,
    limits,
    now,
    awaitWrites: awaitWrites({ ...arrival, timeoutMs: config.ownWritesWaitMs, logger }),
    backfillMissing: backfillMissing({ index, source, logger }),
    eventsWaitMs: config.ownWritesWaitMs,
  };
  const suggestLimits = { maxSuggestions, maxLength: queryLimits.maxLength };
  const handlers: Handlers<Definitions['search']> = {
    Search: (request, call) => search(searching, request, call),
    Suggest: (request, { principal }) =>
      suggest({ index, openTime, limits: suggestLimits, now }, request, principal),
    AwaitIndex: awaitIndex({ ...arrival, now, logger }),
    ...operations.handlers,
  };
  return {
    services: [{ definition: definitions.search, handlers, callers: CALLERS }],
    database,
    checks: opened.checks,
    observed: { bus: bus.check },
    consumers: [consumer],
    background: [{ stop: () => stopping.abort() }, folder, operations],
    close: async () => {
      await Promise.all([bus.close(), upkeep]);
      records.close();
      packages.close();
      await Promise.all([index.stop(), pool.end()]);
    },
  } as const;
}

async function keepUp(deps: RefreshDeps, now: () => Date): Promise<void> {
  const { index, logger, signal } = deps;
  const works = [
    () => refreshEmbargoes(deps, now()),
    () => index.deleteOldTombstones(new Date(now().getTime() - TOMBSTONE_LIFE_MS)),
    () => index.dropFormer(),
  ];
  while (!signal.aborted) {
    for (const work of works) {
      // A task that always fails does not prevent the others.
      await work().catch((error: unknown) =>
        logger.warn({ err: error }, 'upkeep of the index failed, trying later'),
      );
    }
    await pauseUnlessStopped(UPKEEP_INTERVAL_MS, signal);
  }
}
