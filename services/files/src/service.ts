import { type Definitions, definitions } from '@kr/contracts';
import { startConsumer } from '@kr/event-bus';
import { around } from '@kr/failpoint';
import type { Callers, Handlers } from '@kr/rpc';
import { type RunningService, startService } from '@kr/service-host';
import type { Logger } from '@kr/telemetry';
import { observeSeals } from './buckets/observe-seals.ts';
import {
  applyDecisionToBuckets,
  describeBuckets,
  finishOldPublications,
  sealBuckets,
} from './buckets/publications.ts';
import type { FilesConfig } from './config.ts';
import { startContentServer } from './content-server.ts';
import { type FilesContext, openContext } from './context.ts';
import { commitUpload } from './entries/commit-upload.ts';
import { deleteEntries } from './entries/delete-entries.ts';
import { updateEntryMetadata } from './entries/entry-metadata.ts';
import { importEntries } from './entries/import-entries.ts';
import { awaitFileEventsSent, listEntries, readEntry, readFileTrail } from './entries/read-entries.ts';
import { startUploads } from './entries/start-uploads.ts';
import { fixityChecker } from './maintenance/fixity-checker.ts';
import { readFixityReport, startFixityCheck } from './maintenance/fixity-reports.ts';
import {
  collectGarbage,
  deleteExpiredUploads,
  deleteOldPublications,
  removeUnreferencedBlobs,
  removeUnreferencedObjects,
} from './maintenance/garbage-collection.ts';
import { observeStorage } from './maintenance/observe-storage.ts';
import { GONE, onEntityGone, removeLostBuckets } from './maintenance/remove-bucket.ts';
import { repeatedly } from './maintenance/repeatedly.ts';
import { checkUsage } from './quota/check-usage.ts';
import { readQuota, setQuota } from './quota/user-quota.ts';
import { SCHEMA } from './schema.ts';

export interface FilesService extends RunningService {
  contentPort: number;
}

const CALLERS: Callers<Definitions['files']> = {
  gateway: [
    'ListEntries',
    'ReadEntry',
    'StartUploads',
    'CommitUpload',
    'UpdateEntryMetadata',
    'DeleteEntries',
    'ImportEntries',
    'ReadFileTrail',
    'AwaitFileEventsSent',
  ],
  records: ['DescribeBuckets'],
  packages: ['DescribeBuckets', 'SealBuckets', 'ApplyDecisionToBuckets'],
};
const FINISH_EVERY_MS = 5_000;
/** How often a process looks for a due fixity check. */
const FIXITY_EVERY_MS = 10_000;
const REMOVE_OBJECTS_EVERY_MS = 3_600_000;
const REMOVE_BLOBS_EVERY_MS = 86_400_000;
const CHECK_USAGE_EVERY_MS = 86_400_000;
const TRANSFER_GRACE_MS = 2_500;

/** RPC name -> the file that answers it. */
function rpcs(context: FilesContext): Handlers<Definitions['files']> {
  return {
    ListEntries: listEntries(context),
    ReadEntry: readEntry(context),
    StartUploads: startUploads(context),
    CommitUpload: around('files.commit', commitUpload(context)),
    UpdateEntryMetadata: updateEntryMetadata(context),
    DeleteEntries: deleteEntries(context),
    ImportEntries: importEntries(context),
    ReadFileTrail: readFileTrail(context),
    DescribeBuckets: describeBuckets(context),
    SealBuckets: around('files.seal', sealBuckets(context)),
    ApplyDecisionToBuckets: around('files.apply', applyDecisionToBuckets(context)),
    AwaitFileEventsSent: awaitFileEventsSent(context),
  };
}

function operations(
  context: FilesContext,
  { nudgeFixityChecker }: Chores,
): Handlers<Definitions['filesOperations']> {
  return {
    StartFixityCheck: startFixityCheck(context, nudgeFixityChecker),
    ReadFixityReport: readFixityReport(context),
    CollectGarbage: collectGarbage(context),
    ReadQuota: readQuota(context),
    SetQuota: setQuota(context),
  };
}

/** @throws Error when the migration fails, the storage folder cannot be used, or a port cannot be bound */
export async function startFilesService(config: FilesConfig, logger: Logger): Promise<FilesService> {
  const running = await startService({ name: 'files', config, schema: SCHEMA, logger }, async () => {
    const context = await openContext(config, logger);
    const { database, blobs, bus } = context;
    const content = await startContentServer(context, { host: config.grpcHost, port: config.contentPort });
    const chores = startChores(context);
    const consumer = startConsumer({
      connection: bus,
      durable: 'files-remove-buckets',
      subjects: GONE,
      handleBatch: onEntityGone(context),
      recover: () => removeLostBuckets(context),
      database,
      logger,
    });
    return {
      services: [
        { definition: definitions.files, handlers: rpcs(context), callers: CALLERS },
        {
          definition: definitions.filesOperations,
          handlers: operations(context, chores),
          callers: { operator: 'all' },
        },
      ],
      database,
      checks: { storage: () => blobs.check() },
      consumers: [consumer],
      background: [
        { stop: () => content.stop(TRANSFER_GRACE_MS) },
        chores,
        observeSeals(context),
        observeStorage(context, chores.unreferencedBlobs),
      ],
      ports: { content_port: content.port },
      close: context.close,
    };
  });
  return { ...running, contentPort: running.ports.content_port };
}

interface Chores {
  nudgeFixityChecker(): void;
  /** Blobs without a row that the last garbage collection of this process found. */
  unreferencedBlobs(): number;
  stop(): Promise<void>;
}

function startChores(context: FilesContext): Chores {
  const finishPublications = around('files.resolve', context.finishPublications);
  const checker = fixityChecker(context);
  let unreferencedBlobs = 0;
  const every = (everyMs: number, name: string, work: () => Promise<unknown>) =>
    repeatedly(name, everyMs, work, context.logger);
  const fixityChecks = every(FIXITY_EVERY_MS, 'fixity check', checker.work);
  const chores = [
    fixityChecks,
    every(FINISH_EVERY_MS, 'finish old publications', () =>
      finishOldPublications({ ...context, finishPublications }),
    ),
    every(REMOVE_OBJECTS_EVERY_MS, 'delete unreferenced objects', () => removeUnreferencedObjects(context)),
    every(REMOVE_OBJECTS_EVERY_MS, 'delete expired uploads', () => deleteExpiredUploads(context)),
    every(REMOVE_BLOBS_EVERY_MS, 'delete unreferenced blobs', async () => {
      unreferencedBlobs = (await removeUnreferencedBlobs(context)).count;
    }),
    every(CHECK_USAGE_EVERY_MS, 'check usage', () => checkUsage(context)),
    every(REMOVE_OBJECTS_EVERY_MS, 'delete old publications', () => deleteOldPublications(context)),
  ];
  return {
    nudgeFixityChecker: fixityChecks.nudge,
    unreferencedBlobs: () => unreferencedBlobs,
    stop: async () => {
      checker.stop();
      await Promise.all(chores.map((chore) => chore.stop()));
    },
  };
}
