import type { OwnerLimits } from '@kr/draft-lifecycle';
import {
  constant,
  type Environment,
  EnvReader,
  readCallerKeys,
  readDatabaseUrl,
  readListening,
  readNatsUrl,
  readOwnerLimits,
  readPeerAddress,
  readPeerKey,
  readPrefixes,
  readRemovalRetention,
  readTicketKey,
  readVocabularyDir,
  rpcDeadlineMs,
} from '@kr/service-config';

export interface RecordsConfig {
  databaseUrl: URL;
  natsUrl: URL;
  grpcHost: string;
  /** 0 takes a free one, as does `healthPort`. */
  grpcPort: number;
  healthPort: number;
  /** Keys that callers of this service sign principals with, by name of the caller. */
  callerKeys: ReadonlyMap<string, string>;
  packagesAddress: string;
  packagesKey: string;
  filesAddress: string;
  filesKey: string;
  accessLinksAddress: string;
  accessLinksKey: string;
  /** Milliseconds that a call of another service may take. */
  rpcDeadlineMs: number;
  ticketKeys: { files: string; 'access-links': string };
  /** Prefix of assigned DOIs. */
  doiPrefix: string;
  /** The middle part of OAI identifiers. */
  oaiPrefix: string;
  /** Limits on the entities of one owner. */
  ownerLimits: OwnerLimits;
  /** Milliseconds until the files of a removed entity are deleted. */
  removalRetentionMs: number;
  /** Folder with the operator's additions to vocabularies; empty: none. */
  vocabularyDir: string;
  /** Milliseconds between two scans for publications without a decision. */
  janitorEveryMs: number;
  /** Bytes of JSON that one step of a publication prepares. */
  publishPartBytes: number;
}

/** Pure: tests pass a literal. @throws ConfigError naming every problem found */
export function readConfig(env: Environment): RecordsConfig {
  const read = new EnvReader(env);
  const config: RecordsConfig = {
    databaseUrl: readDatabaseUrl(read),
    natsUrl: readNatsUrl(read),
    ...readListening(read),
    callerKeys: readCallerKeys(read),
    packagesAddress: readPeerAddress(read, 'PACKAGES'),
    packagesKey: readPeerKey(read, 'PACKAGES'),
    filesAddress: readPeerAddress(read, 'FILES'),
    filesKey: readPeerKey(read, 'FILES'),
    accessLinksAddress: readPeerAddress(read, 'ACCESS_LINKS'),
    accessLinksKey: readPeerKey(read, 'ACCESS_LINKS'),
    rpcDeadlineMs: rpcDeadlineMs(env),
    ticketKeys: {
      files: readTicketKey(read, 'FILES'),
      'access-links': readTicketKey(read, 'ACCESS_LINKS'),
    },
    ...readPrefixes(read),
    ownerLimits: readOwnerLimits(read),
    removalRetentionMs: readRemovalRetention(read),
    vocabularyDir: readVocabularyDir(read),
    janitorEveryMs: constant(env, 'publishScanMs', 2_000),
    publishPartBytes: 4_194_304,
  };
  read.done();
  return config;
}
