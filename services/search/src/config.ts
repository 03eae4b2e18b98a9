import {
  constant,
  type Environment,
  EnvReader,
  readCallerKeys,
  readDatabaseUrl,
  readListening,
  readPeerAddress,
  readPeerKey,
  readVocabularyDir,
  rpcDeadlineMs,
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
  /** Further copies of the index on other nodes. */
  replicas: number;
}

export type EngineConfig = { kind: 'postgres' } | ElasticsearchConfig;

export interface SearchConfig {
  grpcHost: string;
  /** 0 takes a free port. */
  grpcPort: number;
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
  const config: SearchConfig = {
    ...readListening(read),
    databaseUrl: readDatabaseUrl(read),
    engine: readEngine(read),
    natsUrls: read.list('NATS_URL', {
      doc: "NATS servers with JetStream, with the service's user and password",
      fallback: ['nats://127.0.0.1:4222'],
      isSecret: true,
    }),
    callerKeys: readCallerKeys(read),
    records: peer('RECORDS'),
    packages: peer('PACKAGES'),
    rpcDeadlineMs: rpcDeadlineMs(env),
    searchTimeoutMs: constant(env, 'searchTimeoutMs', 2_000),
    searchConnections: read.integer('SEARCH_CONNECTIONS', {
      doc: 'Maximum number of concurrent searches in the engine; more wait. One caller may run two, and a quarter may be costly (wildcards over all documents)',
      fallback: 4,
      min: 1,
      max: 100,
    }),
    ownWritesWaitMs: constant(env, 'ownWritesWaitMs', 3_000),
    buildSharePercent: 50,
    driftCheckEveryMs: 86_400_000,
    maxPageSize: 1_000,
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
    doc: 'Search engine: the database of the service, or Elasticsearch 9',
    fallback: 'postgres',
  });
  if (kind === 'postgres') return { kind };
  return {
    kind,
    url: read.url('ELASTICSEARCH_URL', { doc: 'URL of Elasticsearch, such as `https://host:9200`' }),
    login: readElasticsearchLogin(read),
    indexPrefix: read.string('ELASTICSEARCH_INDEX_PREFIX', {
      doc: 'Prefix of index names in lower case; must be unique in the cluster',
      fallback: 'knowledge',
    }),
    replicas: read.integer('ELASTICSEARCH_REPLICAS', {
      doc: 'Number of replicas of the index; applies from the next reindex',
      fallback: 1,
      min: 0,
      max: 10,
    }),
  };
}

function readElasticsearchLogin(read: EnvReader): ElasticsearchConfig['login'] {
  const apiKey = read.whenSet(['ELASTICSEARCH_API_KEY'], () => ({
    apiKey: read.string('ELASTICSEARCH_API_KEY', {
      doc: 'API key with the privileges `manage_index_templates`, and `all` on indexes of the prefix',
      isSecret: true,
    }),
  }));
  const user = read.whenSet(['ELASTICSEARCH_USER', 'ELASTICSEARCH_PASSWORD'], () => ({
    username: read.string('ELASTICSEARCH_USER', {
      doc: 'User with these privileges, instead of an API key',
    }),
    password: read.string('ELASTICSEARCH_PASSWORD', {
      doc: 'Password of `ELASTICSEARCH_USER`',
      isSecret: true,
    }),
  }));
  return apiKey ?? user ?? null;
}
