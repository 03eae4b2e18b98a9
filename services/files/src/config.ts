import {
  boolean,
  choice,
  constant,
  type Environment,
  group,
  integer,
  MIN_DOWNLOAD_BYTES_PER_SECOND,
  NATS_URL,
  optional,
  peerFields,
  portField,
  readEnvironment,
  rpcDeadlineMs,
  SERVICE_FIELDS,
  serviceConfig,
  text,
  ticketKey,
  titled,
  url,
  variables,
  whenSet,
} from '@kr/service-config';
import type { StoreSettings } from './blob/open-blob-store.ts';

/** The largest limit that may be set. */
export const MAX_LIMIT_BYTES = 1_000_000_000_000_000;

const SERVICE = variables({
  ...SERVICE_FIELDS,
  NATS_URL,
  CONTENT_PORT: portField({ doc: 'Port for uploads and downloads, used by the gateway', fallback: 0 }),
  FILES_TICKET_KEY: ticketKey('FILES'),
  ...peerFields('PACKAGES'),
  ...peerFields('RECORDS'),
});

const LIMITS = variables({
  MAX_FILES_PER_ENTITY: integer({
    doc: 'Maximum number of files of one draft or published entity',
    fallback: 1_000,
    min: 1,
    max: 100_000,
  }),
  MAX_FILE_BYTES: integer({
    doc: 'Maximum size of one file in bytes',
    fallback: 10_000_000_000,
    min: 1,
    max: 5_000_000_000_000,
  }),
  MAX_BYTES_PER_ENTITY: integer({
    doc: 'Maximum size of all files of one draft or published entity in bytes',
    fallback: 100_000_000_000,
    min: 1,
    max: MAX_LIMIT_BYTES,
  }),
  MAX_BYTES_PER_USER: integer({
    doc: 'Storage quota of one user in bytes; includes replaced and deleted files until their bytes are removed',
    fallback: 1_000_000_000_000,
    min: 1,
    max: MAX_LIMIT_BYTES,
  }),
  FIXITY_CHECK_INTERVAL_MS: integer({
    doc: 'Interval between two fixity checks of all stored bytes in milliseconds; 0 = only on request',
    fallback: 2_592_000_000,
    min: 0,
    max: 31_536_000_000,
  }),
  FIXITY_CHECK_BYTES_PER_SECOND: integer({
    doc: 'Read rate of a fixity check in bytes per second, unless an operator waits for it',
    fallback: 20_000_000,
    min: 65_536,
    max: 10_000_000_000,
  }),
});

const S3 = variables({
  S3_BUCKET: text({ doc: 'Bucket for file contents; only for this installation' }),
  S3_REGION: text({ doc: 'Region of the bucket', fallback: 'us-east-1' }),
  S3_ENDPOINT: optional(url({ doc: 'URL of the object store; default: Amazon S3 in the region' })),
  S3_PATH_STYLE: optional(
    boolean({ doc: 'Bucket name in the path instead of the host; default true if `S3_ENDPOINT` is set' }),
  ),
});

const S3_CREDENTIALS = variables({
  S3_ACCESS_KEY_ID: text({
    doc: 'Access key of the object store; default: the credentials that the AWS SDK finds',
  }),
  S3_SECRET_ACCESS_KEY: text({ doc: 'Secret of `S3_ACCESS_KEY_ID`', isSecret: true }),
});

const STORE = choice(
  'FILES_STORE',
  {
    filesystem: variables({
      STORAGE_DIR: text({ doc: 'Folder of file contents; must be on one file system' }),
    }),
    s3: group({
      bucket: S3,
      credentials: whenSet(['S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY'], S3_CREDENTIALS),
    }),
  },
  { doc: 'Store of file contents', fallback: 'filesystem' },
);

export const VARIABLES = group({
  service: SERVICE,
  store: titled('Store', STORE),
  limits: titled('Limits and fixity checks', LIMITS),
});

export type FilesConfig = ReturnType<typeof readConfig>;

/** Pure: tests pass a literal. @throws ConfigError naming every problem found */
export function readConfig(env: Environment) {
  const { service, store, limits } = readEnvironment(env, VARIABLES);
  return {
    ...serviceConfig(service),
    natsUrl: service.NATS_URL,
    /** For uploads and downloads; 0 takes a free one. */
    contentPort: service.CONTENT_PORT,
    ticketKey: service.FILES_TICKET_KEY,
    packagesAddress: service.PACKAGES_ADDRESS,
    packagesKey: service.PACKAGES_KEY,
    recordsAddress: service.RECORDS_ADDRESS,
    recordsKey: service.RECORDS_KEY,
    rpcDeadlineMs: rpcDeadlineMs(env),
    store: storeSettings(store),
    limits: {
      maxFilesPerEntity: limits.MAX_FILES_PER_ENTITY,
      maxFileBytes: limits.MAX_FILE_BYTES,
      maxBytesPerEntity: limits.MAX_BYTES_PER_ENTITY,
      maxBytesPerUser: limits.MAX_BYTES_PER_USER,
      progress: { idleMs: 60_000, minBytesPerSecond: 16_384 },
      minDownloadBytesPerSecond: MIN_DOWNLOAD_BYTES_PER_SECOND,
    },
    /** Before unreferenced bytes are removed; far longer than a transaction may take. */
    garbageGraceMs: constant(env, 'garbageGraceMs', 86_400_000),
    /** Fixity checks: 0 ms = only on request; the rate is no limit while an operator waits. */
    fixity: {
      everyMs: limits.FIXITY_CHECK_INTERVAL_MS,
      bytesPerSecond: limits.FIXITY_CHECK_BYTES_PER_SECOND,
    },
    /** Whole-file downloads that are compared with the stored checksum. */
    verifyReadsPercent: 1,
  };
}

function storeSettings(store: ReturnType<(typeof STORE)['read']>): StoreSettings {
  if (store.kind === 'filesystem') return { kind: store.kind, folder: store.STORAGE_DIR };
  const { bucket, credentials } = store;
  return {
    kind: store.kind,
    endpoint: bucket.S3_ENDPOINT,
    region: bucket.S3_REGION,
    bucket: bucket.S3_BUCKET,
    isPathStyle: bucket.S3_PATH_STYLE ?? bucket.S3_ENDPOINT !== undefined,
    credentials: credentials && {
      accessKeyId: credentials.S3_ACCESS_KEY_ID,
      secretAccessKey: credentials.S3_SECRET_ACCESS_KEY,
    },
    idleMs: 60_000,
  };
}
