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

export interface RecordsConfig extends EntityServiceConfig {
  packagesAddress: string;
  packagesKey: string;
  /** Milliseconds between two scans for publications without a decision. */
  scanEveryMs: number;
  /** Bytes of JSON that one step of a publication prepares. */
  publishPartBytes: number;
}

export const VARIABLES = group({
  service: variables(
    { ...SERVICE_FIELDS, NATS_URL, ...peerFields('PACKAGES'), ...ENTITY_FIELDS },
    checkPrefixes,
  ),
  datacite: DATACITE,
});

/** Pure: tests pass a literal. @throws ConfigError naming every problem found */
export function readConfig(env: Environment): RecordsConfig {
  const values = readEnvironment(env, VARIABLES);
  return {
    ...entityServiceConfig(env, values),
    packagesAddress: values.service.PACKAGES_ADDRESS,
    packagesKey: values.service.PACKAGES_KEY,
    scanEveryMs: constant(env, 'publishScanMs', 2_000),
    publishPartBytes: 4_194_304,
  };
}
