import {
  type Environment,
  EnvReader,
  readCallerKeys,
  readDatabaseUrl,
  readLeastDownload,
  readListening,
  readNatsUrl,
  readPeerAddress,
  readPeerKey,
  readPort,
  readRpcDeadline,
  readTicketKey,
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
  /** Whether the sha256 of files is computed beside their md5. */
  sha256: boolean;
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
      doc: 'The port that bytes of files are taken and given at',
      fallback: 0,
    }),
    callerKeys: readCallerKeys(read),
    ticketKey: readTicketKey(read, 'FILES'),
    packagesAddress: readPeerAddress(read, 'PACKAGES'),
    packagesKey: readPeerKey(read, 'PACKAGES'),
    recordsAddress: readPeerAddress(read, 'RECORDS'),
    recordsKey: readPeerKey(read, 'RECORDS'),
    rpcDeadlineMs: readRpcDeadline(read),
    store: readStore(read),
    sha256:
      read.choice('FILES_SHA256', ['on', 'off'], {
        doc: 'Whether the sha256 of files is computed beside their md5',
        fallback: 'on',
      }) === 'on',
    limits: {
      maxFilesPerEntity: read.integer('MAX_FILES_PER_ENTITY', {
        doc: 'The most files of one draft or published entity',
        fallback: 1_000,
        min: 1,
        max: 100_000,
      }),
      maxFileBytes: read.integer('MAX_FILE_BYTES', {
        doc: 'The most bytes of one file',
        fallback: 10_000_000_000,
        min: 1,
        max: 5_000_000_000_000,
      }),
      maxBytesPerEntity: read.integer('MAX_BYTES_PER_ENTITY', {
        doc: 'The most bytes of all files of one draft or published entity',
        fallback: 100_000_000_000,
        min: 1,
        max: MOST_BYTES,
      }),
      maxBytesPerUser: read.integer('MAX_BYTES_PER_USER', {
        doc: 'Bytes stored for all files of one user, each object once, replaced and deleted ones until they are removed',
        fallback: 1_000_000_000_000,
        min: 1,
        max: MOST_BYTES,
      }),
      idleMs: 60_000,
      minUploadBytesPerSecond: 16_384,
      minDownloadBytesPerSecond: readLeastDownload(read),
    },
    collectionGraceMs: read.integer('SWEEP_GRACE_MS', {
      doc: 'Milliseconds that bytes without a reference are kept; far longer than a transaction may take',
      fallback: 86_400_000,
      min: 60_000,
      max: 31_536_000_000,
    }),
    audit: {
      everyMs: read.integer('AUDIT_EVERY_MS', {
        doc: 'Milliseconds from the beginning of one audit of stored bytes to that of the next; 0: none begins by itself',
        fallback: 2_592_000_000,
        min: 0,
        max: 31_536_000_000,
      }),
      bytesPerSecond: read.integer('AUDIT_BYTES_PER_SECOND', {
        doc: 'How many bytes a second an audit reads at most, unless somebody waits for it',
        fallback: 20_000_000,
        min: 65_536,
        max: 10_000_000_000,
      }),
    },
    verifyReadsPercent: 1,
    uploadExpiryMs: read.integer('UPLOAD_EXPIRY_MS', {
      doc: 'Milliseconds after its latest bytes at which an unfinished resumable upload expires',
      fallback: 604_800_000,
      min: 1_000,
      max: 31_536_000_000,
    }),
  };
  read.done();
  return config;
}

function readStore(read: EnvReader): StoreSettings {
  const kind = read.choice('FILES_STORE', ['filesystem', 's3'], {
    doc: 'Where the bytes of files are kept',
    fallback: 'filesystem',
  });
  if (kind === 'filesystem') {
    const doc = 'The folder of the bytes, all of it on one file system';
    return { kind, folder: read.string('STORAGE_DIR', { doc }) };
  }
  const endpoint = read.whenSet(['S3_ENDPOINT'], () =>
    read.url('S3_ENDPOINT', { doc: 'The object store; else that of Amazon in the region' }),
  );
  return {
    kind,
    endpoint,
    region: read.string('S3_REGION', { doc: 'The region of the bucket', fallback: 'us-east-1' }),
    bucket: read.string('S3_BUCKET', { doc: 'The bucket for the bytes, used by this installation only' }),
    isPathStyle: read.boolean('S3_PATH_STYLE', {
      doc: 'Whether the bucket is in the path instead of the host; default true if `S3_ENDPOINT` is set',
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
      doc: 'The secret of `S3_ACCESS_KEY_ID`',
      isSecret: true,
    }),
  }));
}
