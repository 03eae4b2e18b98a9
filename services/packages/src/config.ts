import type { DoiRegistration } from '@kr/doi-registration';
import type { OwnerLimits } from '@kr/draft-lifecycle';
import {
  checkPrefixes,
  constant,
  DATACITE,
  type Environment,
  group,
  MAX_METADATA_BYTES_PER_USER,
  NATS_URL,
  OWNER_FIELDS,
  PREFIX_FIELDS,
  peerFields,
  readEnvironment,
  rpcDeadlineMs,
  SERVICE_FIELDS,
  type ServiceConfig,
  serviceConfig,
  ticketKey,
  VOCABULARY_DIR,
  variables,
} from '@kr/service-config';

export interface PackagesConfig extends ServiceConfig {
  natsUrl: URL;
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
  /** Undefined: no DOI is registered. */
  registration: DoiRegistration | undefined;
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

export const VARIABLES = group({
  service: variables(
    {
      ...SERVICE_FIELDS,
      NATS_URL,
      ...peerFields('RECORDS'),
      ...peerFields('FILES'),
      ...peerFields('ACCESS_LINKS'),
      FILES_TICKET_KEY: ticketKey('FILES'),
      ACCESS_LINKS_TICKET_KEY: ticketKey('ACCESS_LINKS'),
      ...PREFIX_FIELDS,
      ...OWNER_FIELDS,
      VOCABULARY_DIR,
    },
    checkPrefixes,
  ),
  datacite: DATACITE,
});

/** Pure: tests pass a literal. @throws ConfigError naming every problem found */
export function readConfig(env: Environment): PackagesConfig {
  const { service: values, datacite } = readEnvironment(env, VARIABLES);
  return {
    ...serviceConfig(values),
    natsUrl: values.NATS_URL,
    recordsAddress: values.RECORDS_ADDRESS,
    recordsKey: values.RECORDS_KEY,
    filesAddress: values.FILES_ADDRESS,
    filesKey: values.FILES_KEY,
    accessLinksAddress: values.ACCESS_LINKS_ADDRESS,
    accessLinksKey: values.ACCESS_LINKS_KEY,
    rpcDeadlineMs: rpcDeadlineMs(env),
    ticketKeys: { files: values.FILES_TICKET_KEY, 'access-links': values.ACCESS_LINKS_TICKET_KEY },
    doiPrefix: values.DOI_PREFIX,
    oaiPrefix: values.OAI_PREFIX,
    ownerLimits: { maxDrafts: values.MAX_DRAFTS_PER_USER, maxMetadataBytes: MAX_METADATA_BYTES_PER_USER },
    removalRetentionMs: values.REMOVAL_RETENTION_DAYS * 86_400_000,
    vocabularyDir: values.VOCABULARY_DIR,
    registration: datacite && {
      url: datacite.DATACITE_URL,
      repository: datacite.DATACITE_REPOSITORY,
      password: datacite.DATACITE_PASSWORD,
      baseUrl: datacite.PUBLIC_BASE_URL,
      intervalMs: constant(env, 'doiScanMs', 2_000),
      retryMs: constant(env, 'doiRetryMs', 5_000),
    },
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
}
