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
import { awaitEvents, awaitIndex, awaitWrites } from './consume/await-events.ts';
import { openIndex } from './open-index.ts';
import { openPool } from './open-pool.ts';
import { startMaintenance } from './operations/maintain-index.ts';
import { withThrottle } from './operations/pages.ts';
import { startOperations } from './operations/start-operations.ts';
import { SCHEMA } from './schema.ts';
import { backfillMissing } from './search/backfill-missing.ts';
import { engineTime } from './search/engine-time.ts';
import { search } from './search/search.ts';
import { searchSlots } from './search/search-slots.ts';
import { suggest } from './search/suggest.ts';
import { lifecycleSource } from './sources/lifecycle-source.ts';

/** A batch costs as much as some ten documents; the index lags by this much. */
const BATCH_EVERY_MS = 250;
/** Percent of the time that work on the whole index uses while there are searches. */
const BUILD_SHARE_PERCENT = 50;
const DRIFT_CHECK_EVERY_MS = 86_400_000;
/** For all events of a build in flight; afterwards the check is repeated. */
const ARRIVAL_TIMEOUT_MS = 30_000;

const CALLERS: Callers<Definitions['search']> = {
  gateway: ['Search', 'Suggest', 'AwaitIndex'],
  operator: ['DescribeIndex', 'StartReindex', 'CheckDrift'],
};

/** @throws Error when the database is unavailable, a migration fails or a port cannot be bound */
export function startSearchService(config: SearchConfig, logger: Logger): Promise<RunningService> {
  return startService({ name: 'search', config, schema: SCHEMA, logger }, () => open(config, logger));
}

async function open(config: SearchConfig, logger: Logger) {
  const now = () => new Date();
  const folder = openVocabularies(config.vocabularyDir, (error) =>
    logger.error({ err: error }, 'vocabulary file ignored'),
  );
  const clientOf = (audience: 'records' | 'packages') =>
    createClient(definitions.lifecycle, {
      ...config[audience],
      audience,
      caller: 'search',
      defaultTimeoutMs: config.rpcDeadlineMs,
    });
  const clients = { record: clientOf('records'), package: clientOf('packages') };
  const source = lifecycleSource(clients, folder.vocabularies);

  const stopping = new AbortController();
  const opened = await openIndex(config, logger);
  const { index, throttle } = withThrottle(opened.index, BUILD_SHARE_PERCENT, stopping.signal);
  const databaseUrl = config.databaseUrl.href;
  const pool = openPool({ connectionString: databaseUrl, max: 2 });
  const database = sqlOn(pool);

  const bus = connectBus({ servers: config.natsUrls, name: 'search', logger });
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
  const sentBy = (client: typeof clients.record) => async (timeoutMs: number) => {
    const options = { timeoutMs: Math.max(1, Math.round(timeoutMs)) };
    return (await client.awaitEventsSent({}, servicePrincipal('search'), options)).areSent;
  };
  const arrival = {
    senders: { record: sentBy(clients.record), package: sentBy(clients.package) },
    consumer,
    checkBus: () => bus.check(),
    logger,
  };
  const awaitArrival = awaitEvents(arrival);
  const operations = startOperations({
    index,
    source,
    throttle,
    consumer,
    hasArrived: () => awaitArrival(ARRIVAL_TIMEOUT_MS),
    pool,
    databaseUrl,
    driftCheckEveryMs: DRIFT_CHECK_EVERY_MS,
    now,
    logger,
  });

  const slots = searchSlots(config.searchConnections);
  const openTime = engineTime({ slots, limitMs: config.searchTimeoutMs, elapsed: () => performance.now() });
  const searching = {
    vocabularies: folder.vocabularies,
    openTime,
    index,
    now,
    awaitWrites: awaitWrites(arrival),
    backfillMissing: backfillMissing({ index, source, logger }),
    maxWaitMs: config.ownWritesWaitMs,
  };
  const handlers: Handlers<Definitions['search']> = {
    Search: search(searching),
    Suggest: suggest(searching),
    AwaitIndex: awaitIndex(arrival),
    ...operations.handlers,
  };
  return {
    services: [{ definition: definitions.search, handlers, callers: CALLERS }],
    database,
    checks: opened.checks,
    observed: { bus: () => bus.check() },
    consumers: [consumer],
    background: [
      { stop: () => stopping.abort() },
      folder,
      operations,
      startMaintenance({ index, source, logger, now }),
    ],
    close: async () => {
      await bus.close();
      for (const client of Object.values(clients)) client.close();
      await Promise.all([index.stop(), pool.end()]);
    },
  } as const;
}
