import { type Environment, EnvReader } from '@kr/service-config';

export interface RecordsConfig {
  databaseUrl: URL;
  natsUrl: URL;
  grpcHost: string;
  /** 0 takes a free one, as does `healthPort`. */
  grpcPort: number;
  healthPort: number;
  /** What each caller of this service signs principals with, by its name. */
  callerKeys: ReadonlyMap<string, string>;
  packagesAddress: string;
  packagesKey: string;
  filesAddress: string;
  filesKey: string;
  ticketKeys: { files: string; 'access-links': string };
  /** What DOIs given out here begin with. */
  doiPrefix: string;
  /** The middle part of OAI identifiers. */
  oaiPrefix: string;
  /** Folder with the operator's additions to vocabularies; empty: none. */
  vocabularyDir: string;
  /** Milliseconds between two looks for publications whose decision has not come. */
  janitorEveryMs: number;
}

/** Pure: tests pass a literal. @throws ConfigError naming every problem found */
export function readConfig(env: Environment): RecordsConfig {
  const read = new EnvReader(env);
  const port = { fallback: 0, min: 0, max: 65_535 };
  const config: RecordsConfig = {
    databaseUrl: read.url('DATABASE_URL'),
    natsUrl: read.url('NATS_URL'),
    grpcHost: read.string('GRPC_HOST', '127.0.0.1'),
    grpcPort: read.integer('GRPC_PORT', port),
    healthPort: read.integer('HEALTH_PORT', port),
    callerKeys: read.namedSecrets('CALLER_KEYS'),
    packagesAddress: read.string('PACKAGES_ADDRESS'),
    packagesKey: read.secret('PACKAGES_KEY'),
    filesAddress: read.string('FILES_ADDRESS'),
    filesKey: read.secret('FILES_KEY'),
    ticketKeys: {
      files: read.secret('FILES_TICKET_KEY'),
      'access-links': read.secret('ACCESS_LINKS_TICKET_KEY'),
    },
    doiPrefix: read.string('DOI_PREFIX', '10.5072'),
    oaiPrefix: read.string('OAI_PREFIX', 'localhost'),
    vocabularyDir: read.string('VOCABULARY_DIR', ''),
    janitorEveryMs: read.integer('PUBLISH_SCAN_MS', { fallback: 2_000, min: 50, max: 60_000 }),
  };
  read.done();
  return config;
}
