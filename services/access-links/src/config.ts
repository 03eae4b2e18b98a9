import { type Environment, EnvReader } from '@kr/service-config';

export interface AccessLinksConfig {
  databaseUrl: URL;
  natsUrl: URL;
  grpcHost: string;
  /** 0 takes a free one, as does `healthPort`. */
  grpcPort: number;
  healthPort: number;
  /** What each caller of this service signs principals with, by its name. */
  callerKeys: ReadonlyMap<string, string>;
  /** Verifies the tickets of those who manage links. */
  ticketKey: string;
  /** Tokens are derived from it; whoever has it and the database can open every link. */
  linkTokenKey: string;
  /** Keys that were `linkTokenKey` once: links made with one that is not named here open nothing any more. */
  previousLinkTokenKeys: readonly string[];
  /** The most links of one entity, in all its versions, that were not revoked. */
  maxLinksPerEntity: number;
}

/** Pure: tests pass a literal. @throws ConfigError naming every problem found */
export function readConfig(env: Environment): AccessLinksConfig {
  const read = new EnvReader(env);
  const port = { fallback: 0, min: 0, max: 65_535 };
  const config: AccessLinksConfig = {
    databaseUrl: read.url('DATABASE_URL'),
    natsUrl: read.url('NATS_URL'),
    grpcHost: read.string('GRPC_HOST', '127.0.0.1'),
    grpcPort: read.integer('GRPC_PORT', port),
    healthPort: read.integer('HEALTH_PORT', port),
    callerKeys: read.namedSecrets('CALLER_KEYS'),
    ticketKey: read.secret('ACCESS_LINKS_TICKET_KEY'),
    linkTokenKey: read.secret('LINK_TOKEN_KEY'),
    previousLinkTokenKeys: read.list('LINK_TOKEN_PREVIOUS_KEYS', []),
    maxLinksPerEntity: read.integer('MAX_LINKS_PER_ENTITY', { fallback: 1_000, min: 1, max: 100_000 }),
  };
  read.done();
  return config;
}
