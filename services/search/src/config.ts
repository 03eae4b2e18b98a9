import {
  choice,
  constant,
  type Environment,
  group,
  integer,
  list,
  optional,
  peerFields,
  readEnvironment,
  rpcDeadlineMs,
  SERVICE_FIELDS,
  type ServiceConfig,
  serviceConfig,
  text,
  titled,
  url,
  VOCABULARY_DIR,
  variables,
} from '@kr/service-config';

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
  login: { apiKey: string } | null;
  /** The prefix of its indexes' names. */
  indexPrefix: string;
  /** Replicas of the index on other nodes. */
  replicas: number;
}

export type EngineConfig = { kind: 'postgres' } | ElasticsearchConfig;

export interface SearchConfig extends ServiceConfig {
  /** Where documents are stored and searched. The state of the index and dead letters are always in the database. */
  engine: EngineConfig;
  natsUrls: readonly string[];
  records: ServiceAddress;
  packages: ServiceAddress;
  /** Timeout of calls to other services in milliseconds. */
  rpcDeadlineMs: number;
  /** Timeout of all engine statements of a search in milliseconds, with the wait for a connection. */
  searchTimeoutMs: number;
  /** Searches that run in the engine at once; more wait. */
  searchConnections: number;
  /** Maximum time that a personal listing waits for the caller's recent writes, in milliseconds. */
  ownWritesWaitMs: number;
  /** Folder with the operator's additions to vocabularies; empty: none. */
  vocabularyDir: string;
}

const SERVICE = variables({
  ...SERVICE_FIELDS,
  NATS_URL: list({
    doc: "NATS servers with JetStream, with the service's user and password",
    fallback: ['nats://127.0.0.1:4222'],
    isSecret: true,
  }),
  ...peerFields('RECORDS'),
  ...peerFields('PACKAGES'),
  SEARCH_CONNECTIONS: integer({
    doc: 'Maximum number of concurrent searches in the engine; more wait. One caller may run two, and a quarter may be costly (wildcards over all documents)',
    fallback: 4,
    min: 1,
    max: 100,
  }),
  VOCABULARY_DIR,
});

const ELASTICSEARCH = variables({
  ELASTICSEARCH_URL: url({ doc: 'URL of Elasticsearch, such as `https://host:9200`' }),
  ELASTICSEARCH_API_KEY: optional(
    text({
      doc: 'API key with the privileges `manage_index_templates`, and `all` on indexes of the prefix',
      isSecret: true,
    }),
  ),
  ELASTICSEARCH_INDEX_PREFIX: text({
    doc: 'Prefix of index names in lower case; must be unique in the cluster',
    fallback: 'knowledge',
  }),
  ELASTICSEARCH_REPLICAS: integer({
    doc: 'Number of replicas of the index; applies from the next reindex',
    fallback: 1,
    min: 0,
    max: 10,
  }),
});

const ENGINE = choice(
  'SEARCH_ENGINE',
  { postgres: variables({}), elasticsearch: ELASTICSEARCH },
  { doc: 'Search engine: the database of the service, or Elasticsearch 9', fallback: 'postgres' },
);

export const VARIABLES = group({ service: SERVICE, engine: titled('Search engine', ENGINE) });

/** @throws ConfigError naming every problem found */
export function readConfig(env: Environment): SearchConfig {
  const { service, engine } = readEnvironment(env, VARIABLES);
  return {
    ...serviceConfig(service),
    engine: engineConfig(engine),
    natsUrls: service.NATS_URL,
    records: { address: service.RECORDS_ADDRESS, key: service.RECORDS_KEY },
    packages: { address: service.PACKAGES_ADDRESS, key: service.PACKAGES_KEY },
    rpcDeadlineMs: rpcDeadlineMs(env),
    searchTimeoutMs: constant(env, 'searchTimeoutMs', 2_000),
    searchConnections: service.SEARCH_CONNECTIONS,
    ownWritesWaitMs: constant(env, 'ownWritesWaitMs', 3_000),
    vocabularyDir: service.VOCABULARY_DIR,
  };
}

function engineConfig(engine: ReturnType<(typeof ENGINE)['read']>): EngineConfig {
  if (engine.kind === 'postgres') return { kind: engine.kind };
  const apiKey = engine.ELASTICSEARCH_API_KEY;
  return {
    kind: engine.kind,
    url: engine.ELASTICSEARCH_URL,
    login: apiKey === undefined ? null : { apiKey },
    indexPrefix: engine.ELASTICSEARCH_INDEX_PREFIX,
    replicas: engine.ELASTICSEARCH_REPLICAS,
  };
}
