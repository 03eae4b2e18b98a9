import { type Definitions, definitions } from '@kr/contracts';
import {
  decidePublication,
  FILE_DELETED_SUBJECTS,
  followLinks,
  forgetDeletedFiles,
  forgetLostFiles,
  LIFECYCLE_CALLERS,
  LINK_SUBJECTS,
  lifecycleHandlers,
  observeLocks,
  preparePublication,
  restoreLinks,
  startJanitor,
  startPurging,
  validatePublication,
} from '@kr/draft-lifecycle';
import { type Consumer, deadLetterHandlers, startConsumer } from '@kr/event-bus';
import { around } from '@kr/failpoint';
import { startHealth } from '@kr/health';
import { useVocabularyFolder } from '@kr/metadata';
import { type Handlers, serve } from '@kr/rpc';
import { migrate } from '@kr/schema-migration';
import type { Logger } from '@kr/telemetry';
import type { RecordsConfig } from './config.ts';
import { onPackageEvent, PACKAGE_SUBJECTS } from './consume/on-package-event.ts';
import { restoreRelations } from './consume/restore-relations.ts';
import { type OpenContext, openContext, type RecordsContext } from './context.ts';
import { associateRecords, dissociateRecords } from './package-relations/association.ts';
import { deleteDraft } from './package-relations/delete-draft.ts';
import { describeRecords, readPackageTrail } from './package-relations/describe-records.ts';
import { listManagedRecords } from './package-relations/managed-records.ts';
import { setPackageResources } from './package-relations/set-package-resources.ts';
import { SCHEMA } from './schema.ts';

export interface RecordsService {
  grpcPort: number;
  healthPort: number;
  /** Refuses new work, lets running work finish, closes connections. May be called twice. */
  stop(): Promise<void>;
}

/** RPC name -> the file that answers it. */
function rpcs(
  context: RecordsContext,
  { publishPartBytes }: RecordsConfig,
): Handlers<Definitions['records']> {
  return {
    PreparePublication: around('records.prepare', preparePublication(context.lifecycle, publishPartBytes)),
    ValidateRecords: validatePublication(context.lifecycle),
    DecidePublication: decidePublication(context.lifecycle),
    AssociateRecords: associateRecords(context),
    DissociateRecords: dissociateRecords(context),
    DescribeRecords: describeRecords(context),
    SetPackageResources: setPackageResources(context),
    ListManagedRecords: listManagedRecords(context),
    ReadPackageTrail: readPackageTrail(context),
  };
}

function lifecycleRpcs(context: RecordsContext): Handlers<Definitions['lifecycle']> {
  const handlers = lifecycleHandlers(context.lifecycle);
  return { ...handlers, DeleteDraft: deleteDraft(context, handlers.DeleteDraft) };
}

/** @throws Error when the database is not there, a migration fails or a port cannot be bound */
export async function startRecordsService(config: RecordsConfig, logger: Logger): Promise<RecordsService> {
  await migrate({ databaseUrl: config.databaseUrl, sets: SCHEMA, logger });
  const vocabularies = useVocabularyFolder(config.vocabularyDir, (error) =>
    logger.error({ err: error }, 'vocabulary file ignored'),
  );
  const context = openContext(config, logger);
  // The first request does not pay for the start of the query engine.
  await context.database.$connect();
  const consumers = startConsumers(context);
  const grpc = await serve({
    services: [
      {
        definition: definitions.lifecycle,
        handlers: lifecycleRpcs(context),
        // The coordinator calls it for the permission to publish.
        callers: { ...LIFECYCLE_CALLERS, packages: ['Authorise', 'FindIds', 'FindDois'], files: ['FindIds'] },
      },
      { definition: definitions.records, handlers: rpcs(context, config), callers: { packages: 'all' } },
      {
        definition: definitions.deadLetters,
        handlers: deadLetterHandlers({ database: context.database, consumers }),
        callers: { operator: 'all' },
      },
    ],
    host: config.grpcHost,
    port: config.grpcPort,
    audience: 'records',
    callerKeys: config.callerKeys,
    logger,
  });
  const health = await startHealth({
    host: config.grpcHost,
    port: config.healthPort,
    checks: { database: async () => void (await context.database.$queryRaw`select 1`) },
    observed: { bus: () => context.bus.check() },
  });
  const janitor = startJanitor(context.lifecycle, { intervalMs: config.janitorEveryMs });
  const locks = observeLocks(context.lifecycle);
  const purging = startPurging(context.lifecycle, config.removalRetentionMs);

  let stopping: Promise<void> | undefined;
  const stop = async () => {
    locks.stop();
    purging.stop();
    await Promise.all([grpc.stop(), janitor.stop(), ...consumers.map((consumer) => consumer.stop())]);
    await health.stop();
    vocabularies.stop();
    await context.close();
  };
  logger.info({ grpc_port: grpc.port, health_port: health.port }, 'ready');
  return {
    grpcPort: grpc.port,
    healthPort: health.port,
    stop: () => {
      stopping ??= stop();
      return stopping;
    },
  };
}

function startConsumers(context: OpenContext): Consumer[] {
  const { bus: connection, database, lifecycle, logger } = context;
  const shared = { connection, database, logger };
  return [
    startConsumer<(typeof PACKAGE_SUBJECTS)[number]>({
      ...shared,
      durable: 'records-follow-packages',
      subjects: PACKAGE_SUBJECTS,
      handleBatch: onPackageEvent(context),
      recover: () => restoreRelations(context),
    }),
    startConsumer<(typeof LINK_SUBJECTS)[number]>({
      ...shared,
      durable: 'records-follow-links',
      subjects: LINK_SUBJECTS,
      handleBatch: followLinks(lifecycle),
      recover: () => restoreLinks(lifecycle, context.listParentLinks),
    }),
    startConsumer({
      ...shared,
      durable: 'records-forget-deleted-files',
      subjects: FILE_DELETED_SUBJECTS,
      handleBatch: forgetDeletedFiles(lifecycle),
      recover: () => forgetLostFiles(lifecycle),
    }),
  ];
}
