import {
  type Environment,
  EnvReader,
  readCallerKeys,
  readDatabaseUrl,
  readListening,
  readNatsUrl,
  readTicketKey,
} from '@kr/service-config';

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
  /** The most links of one entity, in all its versions, that are neither revoked nor expired. */
  maxLinksPerEntity: number;
}

/** Pure: tests pass a literal. @throws ConfigError naming every problem found */
export function readConfig(env: Environment): AccessLinksConfig {
  const read = new EnvReader(env);
  const config: AccessLinksConfig = {
    databaseUrl: readDatabaseUrl(read),
    natsUrl: readNatsUrl(read),
    ...readListening(read),
    callerKeys: readCallerKeys(read),
    ticketKey: readTicketKey(read, 'ACCESS_LINKS'),
    linkTokenKey: read.secret('LINK_TOKEN_KEY', {
      doc: 'What the tokens of links are derived from; whoever has it and the database can open every link',
    }),
    previousLinkTokenKeys: read.list('LINK_TOKEN_PREVIOUS_KEYS', {
      doc: 'What `LINK_TOKEN_KEY` was before, parted by commas; links made with one that is not named open nothing',
      fallback: [],
      isSecret: true,
    }),
    maxLinksPerEntity: read.integer('MAX_LINKS_PER_ENTITY', {
      doc: 'The most links of one entity, in all its versions, that are neither revoked nor expired',
      fallback: 1_000,
      min: 1,
      max: 100_000,
    }),
  };
  read.done();
  return config;
}
