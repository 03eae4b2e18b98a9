import { type Definitions, definitions } from '@kr/contracts';
import { openDoiRegistration } from '@kr/doi-registration';
import {
  appendChangedEvents,
  applyDecisionToRecords,
  LIFECYCLE_CALLERS,
  lifecycleHandlers,
  observeLocks,
  preparePublication,
  readPublic,
  startLifecycleConsumers,
  startPurging,
  startStaleLockScanner,
  transact,
  validatePublication,
} from '@kr/draft-lifecycle';
import { type Consumer, startConsumer } from '@kr/event-bus';
import { around } from '@kr/failpoint';
import { openVocabularies } from '@kr/metadata';
import type { Handlers } from '@kr/rpc';
import { type RunningService, startService } from '@kr/service-host';
import type { Logger } from '@kr/telemetry';
import type { RecordsConfig } from './config.ts';
import { onPackageEvent, PACKAGE_SUBJECTS } from './consume/on-package-event.ts';
import { restoreRelations } from './consume/restore-relations.ts';
import { openContext, type RecordsContext } from './context.ts';
import { associateRecords, dissociateRecords } from './package-relations/association.ts';
import { describeRecords, readPackageTrail } from './package-relations/describe-records.ts';
import { listManagedRecords } from './package-relations/managed-records.ts';
import { setPackageResources } from './package-relations/set-package-resources.ts';
import { SCHEMA } from './schema.ts';

/** RPC name -> the file that answers it. */
function rpcs(
  context: RecordsContext,
  { publishPartBytes }: RecordsConfig,
): Handlers<Definitions['records']> {
  return {
    PreparePublication: around('records.prepare', preparePublication(context, publishPartBytes)),
    ValidateRecords: validatePublication(context),
    ApplyDecisionToRecords: applyDecisionToRecords(context),
    AssociateRecords: associateRecords(context),
    DissociateRecords: dissociateRecords(context),
    DescribeRecords: describeRecords(context),
    SetPackageResources: setPackageResources(context),
    ListManagedRecords: listManagedRecords(context),
    ReadPackageTrail: readPackageTrail(context),
  };
}

/** @throws Error when the database is unavailable, a migration fails or a port cannot be bound */
export async function startRecordsService(config: RecordsConfig, logger: Logger): Promise<RunningService> {
  return startService({ name: 'records', config, schema: SCHEMA, logger }, async () => {
    const folder = openVocabularies(config.vocabularyDir, (error) =>
      logger.error({ err: error }, 'vocabulary file ignored'),
    );
    const context = openContext(config, folder.vocabularies, logger);
    const dois = openDoiRegistration({
      registration: config.registration,
      database: context.database,
      readPublic: (id, which) => readPublic(context, id, which),
      transact: (run) => transact(context, run),
      appendChangedEvents: (tx, ids) => appendChangedEvents(context, tx, ids),
      vocabularies: folder.vocabularies,
      collection: 'records',
      logger,
    });
    return {
      services: [
        { definition: definitions.dois, handlers: dois.handlers, callers: { operator: 'all' } },
        {
          definition: definitions.lifecycle,
          handlers: lifecycleHandlers(context),
          // The coordinator calls it for the permission to publish.
          callers: {
            ...LIFECYCLE_CALLERS,
            packages: ['Authorise', 'FindIds', 'FindDois'],
            files: ['FindIds'],
          },
        },
        { definition: definitions.records, handlers: rpcs(context, config), callers: { packages: 'all' } },
      ],
      database: context.database,
      informationalChecks: { bus: () => context.bus.check() },
      consumers: startConsumers(context),
      background: [
        folder,
        dois,
        startStaleLockScanner(context, config.scanEveryMs),
        observeLocks(context),
        startPurging(context, config.removalRetentionMs),
      ],
      close: context.close,
    };
  });
}

function startConsumers(context: ReturnType<typeof openContext>): Consumer[] {
  const { bus: connection, database, logger } = context;
  const shared = { connection, database, logger };
  return [
    startConsumer<(typeof PACKAGE_SUBJECTS)[number]>({
      ...shared,
      durable: 'records-follow-packages',
      subjects: PACKAGE_SUBJECTS,
      handleBatch: onPackageEvent(context),
      recover: () => restoreRelations(context),
    }),
    ...startLifecycleConsumers(context),
  ];
}
