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
  /** Keys that callers of this service sign principals with, by name of the caller. */
  callerKeys: ReadonlyMap<string, string>;
  /** Verifies tickets for managing links. */
  ticketKey: string;
  /** Tokens are derived from it; this key together with the database opens every link. */
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
      doc: 'Key that link tokens are derived from; with the database it gives access to every link',
    }),
    previousLinkTokenKeys: read.list('LINK_TOKEN_PREVIOUS_KEYS', {
      doc: 'Previous values of `LINK_TOKEN_KEY`, separated by commas; links made with an unlisted key are invalid',
      fallback: [],
      isSecret: true,
    }),
    maxLinksPerEntity: 1_000,
  };
  read.done();
  return config;
}
