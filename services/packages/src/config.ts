import {
  checkPrefixes,
  constant,
  DATACITE,
  ENTITY_FIELDS,
  type EntityServiceConfig,
  type Environment,
  entityServiceConfig,
  group,
  NATS_URL,
  peerFields,
  readEnvironment,
  SERVICE_FIELDS,
  variables,
} from '@kr/service-config';

export interface PackagesConfig extends EntityServiceConfig {
  recordsAddress: string;
  recordsKey: string;
  publish: {
    /** Milliseconds after which a publication whose owner renews no lease gets another owner. */
    leaseMs: number;
    /** Milliseconds a publication may stay undecided; then it is aborted. */
    deadlineMs: number;
    /** Milliseconds to wait for another publication that has locked one of the drafts. */
    blockedMs: number;
    /** Milliseconds to retry calls to other services before the publication is aborted. */
    reachMs: number;
    /** Milliseconds before a retry. */
    retryMs: number;
    /** Milliseconds between two scans for publications without an owner. */
    scanEveryMs: number;
    /** Maximum JSON bytes of the resources of one publication. */
    maxBytes: number;
  };
}

export const VARIABLES = group({
  service: variables(
    { ...SERVICE_FIELDS, NATS_URL, ...peerFields('RECORDS'), ...ENTITY_FIELDS },
    checkPrefixes,
  ),
  datacite: DATACITE,
});

/** Pure: tests pass a literal. @throws ConfigError naming every problem found */
export function readConfig(env: Environment): PackagesConfig {
  const values = readEnvironment(env, VARIABLES);
  return {
    ...entityServiceConfig(env, values),
    recordsAddress: values.service.RECORDS_ADDRESS,
    recordsKey: values.service.RECORDS_KEY,
    publish: {
      leaseMs: constant(env, 'publishLeaseMs', 10_000),
      deadlineMs: constant(env, 'publishDeadlineMs', 30_000),
      blockedMs: 1_000,
      reachMs: constant(env, 'publishReachMs', 5_000),
      retryMs: 100,
      scanEveryMs: constant(env, 'publishScanMs', 1_000),
      maxBytes: 67_108_864,
    },
  };
}
