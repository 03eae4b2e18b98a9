import { type Environment, EnvReader } from '@kr/service-config';

export interface PackagesConfig {
  databaseUrl: URL;
  natsUrl: URL;
  grpcHost: string;
  /** 0 takes a free one, as does `healthPort`. */
  grpcPort: number;
  healthPort: number;
  /** What each caller of this service signs principals with, by its name. */
  callerKeys: ReadonlyMap<string, string>;
  recordsAddress: string;
  recordsKey: string;
  filesAddress: string;
  filesKey: string;
  ticketKeys: { files: string; 'access-links': string };
  doiPrefix: string;
  oaiPrefix: string;
  /** Folder with the operator's additions to vocabularies; empty: none. */
  vocabularyDir: string;
  publish: {
    /** Milliseconds an owner of a publication may be silent before another takes over. */
    leaseMs: number;
    /** Milliseconds a publication may stay undecided; then it is aborted. */
    deadlineMs: number;
    /** Milliseconds to wait for another publication that holds one of the drafts. */
    blockedMs: number;
    /** Milliseconds to keep trying to reach the other services before the publication is given up. */
    reachMs: number;
    /** Milliseconds before a repeat. */
    retryMs: number;
    /** Milliseconds between two looks for publications without an owner. */
    scanEveryMs: number;
  };
}

/** Pure: tests pass a literal. @throws ConfigError naming every problem found */
export function readConfig(env: Environment): PackagesConfig {
  const read = new EnvReader(env);
  const port = { fallback: 0, min: 0, max: 65_535 };
  const config: PackagesConfig = {
    databaseUrl: read.url('DATABASE_URL'),
    natsUrl: read.url('NATS_URL'),
    grpcHost: read.string('GRPC_HOST', '127.0.0.1'),
    grpcPort: read.integer('GRPC_PORT', port),
    healthPort: read.integer('HEALTH_PORT', port),
    callerKeys: read.namedSecrets('CALLER_KEYS'),
    recordsAddress: read.string('RECORDS_ADDRESS'),
    recordsKey: read.secret('RECORDS_KEY'),
    filesAddress: read.string('FILES_ADDRESS'),
    filesKey: read.secret('FILES_KEY'),
    ticketKeys: {
      files: read.secret('FILES_TICKET_KEY'),
      'access-links': read.secret('ACCESS_LINKS_TICKET_KEY'),
    },
    doiPrefix: read.string('DOI_PREFIX', '10.5072'),
    oaiPrefix: read.string('OAI_PREFIX', 'localhost'),
    vocabularyDir: read.string('VOCABULARY_DIR', ''),
    publish: {
      leaseMs: read.integer('PUBLISH_LEASE_MS', { fallback: 10_000, min: 500, max: 600_000 }),
      deadlineMs: read.integer('PUBLISH_DEADLINE_MS', { fallback: 30_000, min: 1_000, max: 3_600_000 }),
      blockedMs: read.integer('PUBLISH_BLOCKED_MS', { fallback: 1_000, min: 0, max: 60_000 }),
      reachMs: read.integer('PUBLISH_REACH_MS', { fallback: 5_000, min: 0, max: 60_000 }),
      retryMs: read.integer('PUBLISH_RETRY_MS', { fallback: 100, min: 1, max: 10_000 }),
      scanEveryMs: read.integer('PUBLISH_SCAN_MS', { fallback: 1_000, min: 50, max: 60_000 }),
    },
  };
  read.done();
  return config;
}
