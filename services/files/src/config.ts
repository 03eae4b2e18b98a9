import { type Environment, EnvReader } from '@kr/service-config';
import type { StoreSettings } from './blob/open-blob-store.ts';

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
  /** What each caller of this service signs principals with, by its name. */
  callerKeys: ReadonlyMap<string, string>;
  /** Verifies the tickets that the owners of entities sign for this service. */
  ticketKey: string;
  /** Whom to ask about publications. */
  packagesAddress: string;
  packagesKey: string;
  store: StoreSettings;
  /** Whether the sha256 of files is computed beside their md5. */
  sha256: boolean;
  limits: {
    maxFilesPerEntity: number;
    maxFileBytes: number;
    /** Of all files of one draft or published entity. */
    maxBytesPerEntity: number;
    /** Of what all drafts and published entities of one user refer to, each object once. */
    maxBytesPerUser: number;
    /** Milliseconds over which a transfer must make progress. */
    idleMs: number;
    /** Bytes a second that an upload must bring on average over that time. */
    minUploadBytesPerSecond: number;
  };
  /** Milliseconds that bytes without a reference are kept; far longer than a transaction may take. */
  sweepGraceMs: number;
  audit: AuditConfig;
  /** Milliseconds after its latest bytes at which a resumable upload that is not finished is given up. */
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
  const port = { fallback: 0, min: 0, max: 65_535 };
  const config: FilesConfig = {
    databaseUrl: read.url('DATABASE_URL'),
    natsUrl: read.url('NATS_URL'),
    grpcHost: read.string('GRPC_HOST', '127.0.0.1'),
    grpcPort: read.integer('GRPC_PORT', port),
    contentPort: read.integer('CONTENT_PORT', port),
    healthPort: read.integer('HEALTH_PORT', port),
    callerKeys: read.namedSecrets('CALLER_KEYS'),
    ticketKey: read.secret('FILES_TICKET_KEY'),
    packagesAddress: read.string('PACKAGES_ADDRESS'),
    packagesKey: read.secret('PACKAGES_KEY'),
    store: readStore(read, env),
    sha256: read.choice('FILES_SHA256', ['on', 'off'], 'on') === 'on',
    limits: {
      maxFilesPerEntity: read.integer('MAX_FILES_PER_ENTITY', { fallback: 1_000, min: 1, max: 100_000 }),
      maxFileBytes: read.integer('MAX_FILE_BYTES', {
        fallback: 10_000_000_000,
        min: 1,
        max: 5_000_000_000_000,
      }),
      maxBytesPerEntity: read.integer('MAX_BYTES_PER_ENTITY', {
        fallback: 100_000_000_000,
        min: 1,
        max: MOST_BYTES,
      }),
      maxBytesPerUser: read.integer('MAX_BYTES_PER_USER', {
        fallback: 1_000_000_000_000,
        min: 1,
        max: MOST_BYTES,
      }),
      idleMs: read.integer('CONTENT_IDLE_MS', { fallback: 60_000, min: 100, max: 600_000 }),
      minUploadBytesPerSecond: read.integer('MIN_UPLOAD_BYTES_PER_SECOND', {
        fallback: 16_384,
        min: 0,
        max: 1_000_000_000,
      }),
    },
    sweepGraceMs: read.integer('SWEEP_GRACE_MS', { fallback: 86_400_000, min: 60_000, max: 31_536_000_000 }),
    audit: {
      everyMs: read.integer('AUDIT_EVERY_MS', { fallback: 2_592_000_000, min: 0, max: 31_536_000_000 }),
      bytesPerSecond: read.integer('AUDIT_BYTES_PER_SECOND', {
        fallback: 20_000_000,
        min: 65_536,
        max: 10_000_000_000,
      }),
    },
    uploadExpiryMs: read.integer('UPLOAD_EXPIRY_MS', {
      fallback: 604_800_000,
      min: 1_000,
      max: 31_536_000_000,
    }),
  };
  read.done();
  return config;
}

function readStore(read: EnvReader, env: Environment): StoreSettings {
  const kind = read.choice('FILES_STORE', ['filesystem', 's3'], 'filesystem');
  if (kind === 'filesystem') return { kind, folder: read.string('STORAGE_DIR') };
  const isSet = (name: string) => (env[name] ?? '') !== '';
  const hasEndpoint = isSet('S3_ENDPOINT');
  const hasCredentials = isSet('S3_ACCESS_KEY_ID') || isSet('S3_SECRET_ACCESS_KEY');
  return {
    kind,
    endpoint: hasEndpoint ? read.url('S3_ENDPOINT') : undefined,
    region: read.string('S3_REGION', 'us-east-1'),
    bucket: read.string('S3_BUCKET'),
    isPathStyle: read.boolean('S3_PATH_STYLE', hasEndpoint),
    credentials: hasCredentials
      ? {
          accessKeyId: read.string('S3_ACCESS_KEY_ID'),
          secretAccessKey: read.string('S3_SECRET_ACCESS_KEY'),
        }
      : undefined,
    idleMs: read.integer('S3_IDLE_MS', { fallback: 60_000, min: 100, max: 600_000 }),
  };
}
