import {
  type Environment,
  list,
  NATS_URL,
  readEnvironment,
  SERVICE_FIELDS,
  type ServiceConfig,
  secret,
  serviceConfig,
  ticketKey,
  variables,
} from '@kr/service-config';

export interface AccessLinksConfig extends ServiceConfig {
  natsUrl: URL;
  /** Verifies tickets for managing links. */
  ticketKey: string;
  /** Tokens are derived from it; with the database it gives access to every link. */
  linkTokenKey: string;
  /** Previous values of `linkTokenKey`; links made with other keys are invalid. */
  previousLinkTokenKeys: readonly string[];
  /** Maximum number of links of an entity, in all its versions, that are neither revoked nor expired. */
  maxLinksPerEntity: number;
}

export const VARIABLES = variables({
  ...SERVICE_FIELDS,
  NATS_URL,
  ACCESS_LINKS_TICKET_KEY: ticketKey('ACCESS_LINKS'),
  LINK_TOKEN_KEY: secret({
    doc: 'Key that link tokens are derived from; with the database it gives access to every link',
  }),
  LINK_TOKEN_PREVIOUS_KEYS: list({
    doc: 'Previous values of `LINK_TOKEN_KEY`, separated by commas; links made with an unlisted key are invalid',
    fallback: [],
    isSecret: true,
  }),
});

/** Pure: tests pass a literal. @throws ConfigError naming every problem found */
export function readConfig(env: Environment): AccessLinksConfig {
  const values = readEnvironment(env, VARIABLES);
  return {
    ...serviceConfig(values),
    natsUrl: values.NATS_URL,
    ticketKey: values.ACCESS_LINKS_TICKET_KEY,
    linkTokenKey: values.LINK_TOKEN_KEY,
    previousLinkTokenKeys: values.LINK_TOKEN_PREVIOUS_KEYS,
    maxLinksPerEntity: 1_000,
  };
}
