import {
  constant,
  type Environment,
  EnvReader,
  MIN_DOWNLOAD_BYTES_PER_SECOND,
  readCallerKeys,
  readDatabaseUrl,
  readListening,
  readNatsUrl,
  readPeerAddress,
  readPeerKey,
  readPort,
  readTicketKey,
  rpcDeadlineMs,
} from '@kr/service-config';
import type { StoreSettings } from './blob/open-blob-store.ts';
import type { S3Settings } from './blob/s3-bucket.ts';

export interface FilesConfig {
  databaseUrl: URL;
  natsUrl: URL;
  /** Where all ports are opened. */
  grpcHost: string;
  /** 0 takes a free one, as do the other ports. */
  grpcPort: number;
  /** The byte plane. */
  contentPort: number;
  healthPort: number;
  /** The keys with which callers of this service sign principals, by name. */
  callerKeys: ReadonlyMap<string, string>;
  /** Verifies the tickets that the owners of entities sign for this service. */
  ticketKey: string;
  /** The addresses of the coordinator of publications. */
  packagesAddress: string;
  packagesKey: string;
  recordsAddress: string;
  recordsKey: string;
  /** Milliseconds that a call of another service may take. */
  rpcDeadlineMs: number;
  store: StoreSettings;
  limits: {
    maxFilesPerEntity: number;
    maxFileBytes: number;
    /** Of all files of one draft or published entity. */
    maxBytesPerEntity: number;
    /** For all drafts and published entities of one user, each object once. */
    maxBytesPerUser: number;
    /** Milliseconds over which an upload must make progress. */
    idleMs: number;
    /** Bytes a second that an upload must bring on average over that time. */
    minUploadBytesPerSecond: number;
    /** The average rate, in bytes per second, at which a client must read a file. */
    minDownloadBytesPerSecond: number;
  };
  /** Milliseconds that bytes without a reference are kept; far longer than a transaction may take. */
  collectionGraceMs: number;
  audit: AuditConfig;
  /** The percentage of whole-file downloads that are compared with the stored checksum. */
  verifyReadsPercent: number;
  /** Milliseconds after its latest bytes at which an unfinished resumable upload expires. */
  uploadExpiryMs: number;
}

/** How stored bytes are read again. */
export interface AuditConfig {
  /** Milliseconds from the beginning of one audit to that of the next; 0: none begins by itself. */
  everyMs: number;
  /** How many bytes a second an audit reads at most, unless somebody waits for it. */
  bytesPerSecond: number;
}

/** The greatest limit of bytes that may be set. */
export const MOST_BYTES = 1_000_000_000_000_000;

/** Pure: tests pass a literal. @throws ConfigError naming every problem found */
export function readConfig(env: Environment): FilesConfig {
  const read = new EnvReader(env);
  const config: FilesConfig = {
    databaseUrl: readDatabaseUrl(read),
    natsUrl: readNatsUrl(read),
    ...readListening(read),
    contentPort: readPort(read, 'CONTENT_PORT', {
      doc: 'Port for uploads and downloads, used by the gateway',
      fallback: 0,
    }),
    callerKeys: readCallerKeys(read),
    ticketKey: readTicketKey(read, 'FILES'),
    packagesAddress: readPeerAddress(read, 'PACKAGES'),
    packagesKey: readPeerKey(read, 'PACKAGES'),
    recordsAddress: readPeerAddress(read, 'RECORDS'),
    recordsKey: readPeerKey(read, 'RECORDS'),
    rpcDeadlineMs: rpcDeadlineMs(env),
    store: readStore(read),
    limits: {
      maxFilesPerEntity: read.integer('MAX_FILES_PER_ENTITY', {
        doc: 'Maximum number of files of one draft or published entity',
        fallback: 1_000,
        min: 1,
        max: 100_000,
      }),
      maxFileBytes: read.integer('MAX_FILE_BYTES', {
        doc: 'Maximum size of one file in bytes',
        fallback: 10_000_000_000,
        min: 1,
        max: 5_000_000_000_000,
      }),
      maxBytesPerEntity: read.integer('MAX_BYTES_PER_ENTITY', {
        doc: 'Maximum size of all files of one draft or published entity in bytes',
        fallback: 100_000_000_000,
        min: 1,
        max: MOST_BYTES,
      }),
      maxBytesPerUser: read.integer('MAX_BYTES_PER_USER', {
        doc: 'Storage quota of one user in bytes; includes replaced and deleted files until their bytes are removed',
        fallback: 1_000_000_000_000,
        min: 1,
        max: MOST_BYTES,
      }),
      idleMs: 60_000,
      minUploadBytesPerSecond: 16_384,
      minDownloadBytesPerSecond: MIN_DOWNLOAD_BYTES_PER_SECOND,
    },
    collectionGraceMs: constant(env, 'garbageGraceMs', 86_400_000),
    audit: {
      everyMs: read.integer('AUDIT_EVERY_MS', {
        doc: 'Interval between two verifications of all stored bytes in milliseconds; 0 = only on request',
        fallback: 2_592_000_000,
        min: 0,
        max: 31_536_000_000,
      }),
      bytesPerSecond: read.integer('AUDIT_BYTES_PER_SECOND', {
        doc: 'Read rate of a verification in bytes per second, unless an operator waits for it',
        fallback: 20_000_000,
        min: 65_536,
        max: 10_000_000_000,
      }),
    },
    verifyReadsPercent: 1,
    uploadExpiryMs: 604_800_000,
  };
  read.done();
  return config;
}

function readStore(read: EnvReader): StoreSettings {
  const kind = read.choice('FILES_STORE', ['filesystem', 's3'], {
    doc: 'Store of file contents',
    fallback: 'filesystem',
  });
  if (kind === 'filesystem') {
    const doc = 'Folder of file contents; must be on one file system';
    return { kind, folder: read.string('STORAGE_DIR', { doc }) };
  }
  const endpoint = read.whenSet(['S3_ENDPOINT'], () =>
    read.url('S3_ENDPOINT', { doc: 'URL of the object store; default: Amazon S3 in the region' }),
  );
  return {
    kind,
    endpoint,
    region: read.string('S3_REGION', { doc: 'Region of the bucket', fallback: 'us-east-1' }),
    bucket: read.string('S3_BUCKET', { doc: 'Bucket for file contents; only for this installation' }),
    isPathStyle: read.boolean('S3_PATH_STYLE', {
      doc: 'Bucket name in the path instead of the host; default true if `S3_ENDPOINT` is set',
      fallback: endpoint !== undefined,
    }),
    credentials: readS3Credentials(read),
    idleMs: 60_000,
  };
}

/** Undefined: what the surroundings know, such as the role of the machine. */
function readS3Credentials(read: EnvReader): S3Settings['credentials'] {
  return read.whenSet(['S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY'], () => ({
    accessKeyId: read.string('S3_ACCESS_KEY_ID', {
      doc: 'Access key of the object store; default: the credentials that the AWS SDK finds',
    }),
    secretAccessKey: read.string('S3_SECRET_ACCESS_KEY', {
      doc: 'Secret of `S3_ACCESS_KEY_ID`',
      isSecret: true,
    }),
  }));
}
