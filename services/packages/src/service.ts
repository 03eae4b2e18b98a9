import { setTimeout as sleep } from 'node:timers/promises';
import { type Definitions, definitions } from '@kr/contracts';
import { openDoiRegistration } from '@kr/doi-registration';
import {
  appendChangedEvents,
  LIFECYCLE_CALLERS,
  type LifecycleHandlers,
  lifecycleHandlers,
  readPublic,
  startLifecycleConsumers,
  startPurging,
  transact,
} from '@kr/draft-lifecycle';
import { type Consumer, startConsumer } from '@kr/event-bus';
import { openVocabularies } from '@kr/metadata';
import type { Callers, Handlers } from '@kr/rpc';
import { type RunningService, startService } from '@kr/service-host';
import type { Logger } from '@kr/telemetry';
import type { PackagesConfig } from './config.ts';
import { onRecordDraftDeleted, removeLostRecords } from './consume/on-record-draft-deleted.ts';
import { openContext, type PackagesContext } from './context.ts';
import { associate, dissociate, listContextResources } from './package-context/context-resources.ts';
import { updateContext } from './package-context/update-context.ts';
import { deleteOldPublications, observePublications } from './publish/maintenance.ts';
import { openPublishing, type Publishing } from './publish/open-publishing.ts';
import { publish, publishAndRead } from './publish/publish.ts';
import { listPublications, readPublication } from './publish/reports.ts';
import { resolvePublications } from './publish/resume-publications.ts';
import { validate } from './publish/validate.ts';
import { addResources, importResources, removeResources } from './resources/add-and-remove.ts';
import { listResources, listVersionResources } from './resources/list-resources.ts';
import { removeDeletedRecords } from './resources/remove-deleted-records.ts';
import { SCHEMA } from './schema.ts';

const PACKAGES_CALLERS: Callers<Definitions['packages']> = {
  gateway: [
    'Associate',
    'Dissociate',
    'AddResources',
    'RemoveResources',
    'ImportResources',
    'ListResources',
    'ListContextResources',
    'UpdateContext',
  ],
  records: ['RemoveDeletedRecords', 'ListVersionResources'],
};
const PUBLICATIONS_CALLERS: Callers<Definitions['publications']> = {
  gateway: ['Publish', 'Validate'],
  records: ['ResolvePublications'],
  files: ['ResolvePublications'],
};
/** Undecided publications are left to the next process, which continues from the row. */
const PUBLISH_GRACE_MS = 2_000;

/** RPC name -> the file that answers it. */
function packageRpcs(context: PackagesContext): Handlers<Definitions['packages']> {
  return {
    Associate: associate(context),
    Dissociate: dissociate(context),
    AddResources: addResources(context),
    RemoveResources: removeResources(context),
    ImportResources: importResources(context),
    ListResources: listResources(context),
    ListContextResources: listContextResources(context),
    UpdateContext: updateContext(context),
    RemoveDeletedRecords: removeDeletedRecords(context),
    ListVersionResources: listVersionResources(context),
  };
}

function publicationRpcs(
  context: PackagesContext,
  publishing: Publishing,
  { ReadEntities }: LifecycleHandlers,
): Handlers<Definitions['publications']> {
  return {
    Publish: publishAndRead(publish(publishing.publishDeps), ReadEntities),
    Validate: validate(context),
    ResolvePublications: resolvePublications(publishing.resolveDeps),
  };
}

function reportRpcs(context: PackagesContext): Handlers<Definitions['publicationReports']> {
  return { ListPublications: listPublications(context), ReadPublication: readPublication(context) };
}

/** @throws Error when the database is unavailable, a migration fails or a port cannot be bound */
export async function startPackagesService(config: PackagesConfig, logger: Logger): Promise<RunningService> {
  return startService({ name: 'packages', config, schema: SCHEMA, logger }, async () => {
    const folder = openVocabularies(config.vocabularyDir, (error) =>
      logger.error({ err: error }, 'vocabulary file ignored'),
    );
    const context = openContext(config, folder.vocabularies, logger);
    const publishing = openPublishing(context, config);
    const lifecycle = lifecycleHandlers(context);
    const failed = context.observations.scanFailed;
    const dois = openDoiRegistration({
      registration: config.registration,
      database: context.database,
      readPublic: (id, which) => readPublic(context, id, which),
      transact: (run) => transact(context, run),
      appendChangedEvents: (tx, ids) => appendChangedEvents(context, tx, ids),
      vocabularies: folder.vocabularies,
      collection: 'packages',
      logger,
    });
    return {
      services: [
        { definition: definitions.dois, handlers: dois.handlers, callers: { operator: 'all' } },
        {
          definition: definitions.lifecycle,
          handlers: lifecycle,
          callers: { ...LIFECYCLE_CALLERS, records: ['FindIds', 'FindDois'], files: ['FindIds'] },
        },
        { definition: definitions.packages, handlers: packageRpcs(context), callers: PACKAGES_CALLERS },
        {
          definition: definitions.publications,
          handlers: publicationRpcs(context, publishing, lifecycle),
          callers: PUBLICATIONS_CALLERS,
        },
        {
          definition: definitions.publicationReports,
          handlers: reportRpcs(context),
          callers: { operator: 'all' },
        },
      ],
      database: context.database,
      informationalChecks: { bus: () => context.bus.check() },
      consumers: startConsumers(context),
      background: [
        folder,
        dois,
        publishing.resumption,
        startPurging(context, config.removalRetentionMs),
        deleteOldPublications({ ...context, onFailed: failed }),
        observePublications({ ...context, onFailed: failed }),
      ],
      close: async () => {
        await Promise.race([
          publishing.coordinator.idle(),
          sleep(PUBLISH_GRACE_MS, undefined, { ref: false }),
        ]);
        await context.close();
      },
    };
  });
}

function startConsumers(context: PackagesContext): Consumer[] {
  const { bus: connection, database, logger } = context;
  const each = { connection, database, logger };
  return [
    startConsumer({
      ...each,
      durable: 'packages-drop-deleted-records',
      subjects: ['knowledge.records.draft.deleted'],
      handleBatch: onRecordDraftDeleted(context),
      recover: () => removeLostRecords(context),
    }),
    ...startLifecycleConsumers(context),
  ];
}
