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

export interface PackagesConfig {
  databaseUrl: URL;
  natsUrl: URL;
  grpcHost: string;
  /** 0 takes a free one, as does `healthPort`. */
  grpcPort: number;
  healthPort: number;
  /** Keys that callers of this service sign principals with, by name of the caller. */
  callerKeys: ReadonlyMap<string, string>;
  recordsAddress: string;
  recordsKey: string;
  filesAddress: string;
  filesKey: string;
  accessLinksAddress: string;
  accessLinksKey: string;
  /** Milliseconds that a call of another service may take. */
  rpcDeadlineMs: number;
  ticketKeys: { files: string; 'access-links': string };
  doiPrefix: string;
  oaiPrefix: string;
  /** Limits on all entities of one owner. */
  ownerLimits: OwnerLimits;
  /** Milliseconds until the files of a removed entity are deleted. */
  removalRetentionMs: number;
  /** Folder with the operator's additions to vocabularies; empty: none. */
  vocabularyDir: string;
  publish: {
    /** Milliseconds an owner of a publication may be silent before another takes over. */
    leaseMs: number;
    /** Milliseconds a publication may stay undecided; then it is aborted. */
    deadlineMs: number;
    /** Milliseconds to wait for another publication that holds one of the drafts. */
    blockedMs: number;
    /** Milliseconds to retry calls to other services before the publication is aborted. */
    reachMs: number;
    /** Milliseconds before a repeat. */
    retryMs: number;
    /** Milliseconds between two looks for publications without an owner. */
    scanEveryMs: number;
    /** How much the resources of one publication may be, as JSON in bytes. */
    mostBytes: number;
  };
}

/** Pure: tests pass a literal. @throws ConfigError naming every problem found */
export function readConfig(env: Environment): PackagesConfig {
  const read = new EnvReader(env);
  const config: PackagesConfig = {
    databaseUrl: readDatabaseUrl(read),
    natsUrl: readNatsUrl(read),
    ...readListening(read),
    callerKeys: readCallerKeys(read),
    recordsAddress: readPeerAddress(read, 'RECORDS'),
    recordsKey: readPeerKey(read, 'RECORDS'),
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
    publish: {
      leaseMs: constant(env, 'publishLeaseMs', 10_000),
      deadlineMs: constant(env, 'publishDeadlineMs', 30_000),
      blockedMs: 1_000,
      reachMs: constant(env, 'publishReachMs', 5_000),
      retryMs: 100,
      scanEveryMs: constant(env, 'publishScanMs', 1_000),
      mostBytes: 67_108_864,
    },
  };
  read.done();
  return config;
}
