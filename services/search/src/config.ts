import { type Environment, EnvReader } from '@kr/service-config';

export interface ServiceAddress {
  /** `host:port`. */
  address: string;
  /** The secret with which principals for this service are signed. */
  key: string;
}

export interface SearchConfig {
  grpcHost: string;
  /** 0 takes a free port. */
  grpcPort: number;
  healthHost: string;
  healthPort: number;
  databaseUrl: URL;
  natsUrls: readonly string[];
  /** What each caller of this service signs principals with, by its name. */
  callerKeys: ReadonlyMap<string, string>;
  records: ServiceAddress;
  packages: ServiceAddress;
  /** Milliseconds a search may take in the database; then the caller is told to come back. */
  searchTimeoutMs: number;
  /** Searches that run in the database at once; more wait. */
  searchConnections: number;
  /** The longest that a listing of what the caller may have just written waits for the index, in milliseconds. */
  ownWritesWaitMs: number;
  /** The largest page of hits. */
  maxPageSize: number;
  /** How many hits can be paged through. */
  window: number;
  /** Folder with the operator's additions to vocabularies; empty: none. */
  vocabularyDir: string;
}

/** @throws ConfigError naming every problem found */
export function readConfig(env: Environment): SearchConfig {
  const read = new EnvReader(env);
  const port = { fallback: 0, min: 0, max: 65_535 };
  const peer = (name: string): ServiceAddress => ({
    address: read.string(`${name}_ADDRESS`),
    key: read.secret(`${name}_KEY`),
  });
  const grpcHost = read.string('GRPC_HOST', '127.0.0.1');
  const config: SearchConfig = {
    grpcHost,
    grpcPort: read.integer('GRPC_PORT', port),
    healthHost: read.string('HEALTH_HOST', grpcHost),
    healthPort: read.integer('HEALTH_PORT', port),
    databaseUrl: read.url('DATABASE_URL'),
    natsUrls: read.list('NATS_URL', ['nats://127.0.0.1:4222']),
    callerKeys: read.namedSecrets('CALLER_KEYS'),
    records: peer('RECORDS'),
    packages: peer('PACKAGES'),
    searchTimeoutMs: read.integer('SEARCH_TIMEOUT_MS', { fallback: 2_000, min: 10, max: 60_000 }),
    searchConnections: read.integer('SEARCH_CONNECTIONS', { fallback: 4, min: 1, max: 100 }),
    ownWritesWaitMs: read.integer('OWN_WRITES_WAIT_MS', { fallback: 3_000, min: 0, max: 30_000 }),
    maxPageSize: read.integer('PAGE_MAX_SIZE', { fallback: 1_000, min: 1, max: 10_000 }),
    window: read.integer('SEARCH_WINDOW', { fallback: 10_000, min: 10, max: 1_000_000 }),
    vocabularyDir: read.string('VOCABULARY_DIR', ''),
  };
  read.done();
  return config;
}
