import {
  type Environment,
  EnvReader,
  readCallerKeys,
  readDatabaseUrl,
  readListening,
  readPeerAddress,
  readPeerKey,
  readRpcDeadline,
  readVocabularyDir,
} from '@kr/service-config';
import { QUERY_LIMITS, type QueryLimits } from './query/query-tree.ts';

export interface ServiceAddress {
  /** `host:port`. */
  address: string;
  /** The secret with which principals for this service are signed. */
  key: string;
}

export interface ElasticsearchConfig {
  kind: 'elasticsearch';
  url: URL;
  /** Null without authentication. */
  login: { apiKey: string } | { username: string; password: string } | null;
  /** The prefix of its indexes' names. */
  indexPrefix: string;
  /** Parts that the index is cut into. */
  shards: number;
  /** Further copies of the index on other nodes. */
  replicas: number;
}

export type EngineConfig = { kind: 'postgres' } | ElasticsearchConfig;

export interface SearchConfig {
  grpcHost: string;
  /** 0 takes a free port. */
  grpcPort: number;
  healthHost: string;
  healthPort: number;
  databaseUrl: URL;
  /** Where documents are kept and found. Dead letters and who keeps the index up are in the database all the same. */
  engine: EngineConfig;
  natsUrls: readonly string[];
  /** The keys with which callers of this service sign principals, by name. */
  callerKeys: ReadonlyMap<string, string>;
  records: ServiceAddress;
  packages: ServiceAddress;
  /** Milliseconds that a call of another service may take. */
  rpcDeadlineMs: number;
  /** Milliseconds that all engine statements of a search may take, with waiting for a connection. */
  searchTimeoutMs: number;
  /** Searches that run in the engine at once; more wait. */
  searchConnections: number;
  /** The longest wait of a personal listing for the caller's recent writes, in milliseconds. */
  ownWritesWaitMs: number;
  /** Percent of the time that building the index takes while there are searches. */
  buildSharePercent: number;
  /** Milliseconds from one comparison of the index with the services to the next; 0: none but those of operators. */
  driftCheckEveryMs: number;
  /** The largest page of hits. */
  maxPageSize: number;
  /** How many hits can be paged through. */
  window: number;
  /** The maximum number of suggestions. */
  maxSuggestions: number;
  queryLimits: QueryLimits;
  /** Folder with the operator's additions to vocabularies; empty: none. */
  vocabularyDir: string;
}

/** @throws ConfigError naming every problem found */
export function readConfig(env: Environment): SearchConfig {
  const read = new EnvReader(env);
  const peer = (name: string): ServiceAddress => ({
    address: readPeerAddress(read, name),
    key: readPeerKey(read, name),
  });
  const listening = readListening(read);
  const config: SearchConfig = {
    ...listening,
    healthHost: read.string('HEALTH_HOST', {
      doc: 'The address that the health port is opened on; `GRPC_HOST` unless given',
      fallback: listening.grpcHost,
    }),
    databaseUrl: readDatabaseUrl(read),
    engine: readEngine(read),
    natsUrls: read.list('NATS_URL', {
      doc: "Servers of NATS with JetStream, with the service's user and password",
      fallback: ['nats://127.0.0.1:4222'],
      isSecret: true,
    }),
    callerKeys: readCallerKeys(read),
    records: peer('RECORDS'),
    packages: peer('PACKAGES'),
    rpcDeadlineMs: readRpcDeadline(read),
    searchTimeoutMs: read.integer('SEARCH_TIMEOUT_MS', {
      doc: 'Milliseconds that all engine statements of a search may take, with waiting for a connection; then the answer is 503',
      fallback: 2_000,
      min: 10,
      max: 60_000,
    }),
    searchConnections: read.integer('SEARCH_CONNECTIONS', {
      doc: 'Searches that run in the engine at once, two of one caller; more wait. A quarter of them may be costly ones (wildcards over all documents)',
      fallback: 4,
      min: 1,
      max: 100,
    }),
    ownWritesWaitMs: read.integer('OWN_WRITES_WAIT_MS', {
      doc: 'The most milliseconds that a personal listing waits for the recent writes of its caller',
      fallback: 3_000,
      min: 0,
      max: 30_000,
    }),
    buildSharePercent: 50,
    driftCheckEveryMs: read.integer('DRIFT_CHECK_EVERY_MS', {
      doc: 'Milliseconds from one comparison of the index with the services to the next; 0 leaves them to operators',
      fallback: 86_400_000,
      min: 0,
      max: 2_592_000_000,
    }),
    maxPageSize: read.integer('PAGE_MAX_SIZE', {
      doc: 'The largest page of hits',
      fallback: 1_000,
      min: 1,
      max: 10_000,
    }),
    window: 10_000,
    maxSuggestions: 50,
    queryLimits: QUERY_LIMITS,
    vocabularyDir: readVocabularyDir(read),
  };
  read.done();
  return config;
}

function readEngine(read: EnvReader): EngineConfig {
  const kind = read.choice('SEARCH_ENGINE', ['postgres', 'elasticsearch'], {
    doc: 'Where documents are kept and found: in the database of the service, or in an Elasticsearch 9',
    fallback: 'postgres',
  });
  if (kind === 'postgres') return { kind };
  return {
    kind,
    url: read.url('ELASTICSEARCH_URL', { doc: 'Elasticsearch, as `https://host:9200`' }),
    login: readElasticsearchLogin(read),
    indexPrefix: read.string('ELASTICSEARCH_INDEX_PREFIX', {
      doc: 'Prefix of the names of its indexes, in lower case; unique to the installation',
      fallback: 'knowledge',
    }),
    shards: read.integer('ELASTICSEARCH_SHARDS', {
      doc: 'Parts that the index is cut into, from the next reindex on; with more than one a publication may be seen in parts for a moment',
      fallback: 1,
      min: 1,
      max: 100,
    }),
    replicas: read.integer('ELASTICSEARCH_REPLICAS', {
      doc: 'Further copies of the index on other nodes, from the next reindex on',
      fallback: 1,
      min: 0,
      max: 10,
    }),
  };
}

function readElasticsearchLogin(read: EnvReader): ElasticsearchConfig['login'] {
  const apiKey = read.whenSet(['ELASTICSEARCH_API_KEY'], () => ({
    apiKey: read.string('ELASTICSEARCH_API_KEY', {
      doc: 'A key with the privileges `manage_index_templates`, and `all` on indexes of the prefix',
      isSecret: true,
    }),
  }));
  const user = read.whenSet(['ELASTICSEARCH_USER', 'ELASTICSEARCH_PASSWORD'], () => ({
    username: read.string('ELASTICSEARCH_USER', {
      doc: 'A user with the rights of such a key, in place of one',
    }),
    password: read.string('ELASTICSEARCH_PASSWORD', { doc: 'Of `ELASTICSEARCH_USER`', isSecret: true }),
  }));
  return apiKey ?? user ?? null;
}
