import {
  type Environment,
  HEALTH_PORT,
  optional,
  portField,
  readEnvironment,
  secret,
  text,
  url,
  variables,
} from '@kr/service-config';

export interface WebConfig {
  httpHost: string;
  /** 0 = any free port, as for `healthPort`. */
  httpPort: number;
  healthPort: number;
  /** Where the gateway serves the public API. */
  gatewayUrl: URL;
  /** Proves to the gateway that the client address in requests is right. */
  webKey: string;
  /** Base URL of links; undefined: the host of each request. */
  publicBaseUrl: URL | undefined;
  siteName: string;
  /** The domain name in OAI identifiers, as the records and packages services have it; empty: the host of the repository. */
  oaiPrefix: string;
  /** E-mail address of the administrator; empty: `postmaster` at the host of the repository. */
  contactEmail: string;
}

export const VARIABLES = variables({
  HTTP_HOST: text({ doc: 'Address of the public port', fallback: '127.0.0.1' }),
  HTTP_PORT: portField({ doc: 'Port of the public API', fallback: 8080 }),
  HEALTH_PORT,
  GATEWAY_URL: url({ doc: 'Internal URL of the gateway, whose public API the pages show' }),
  WEB_KEY: secret({
    doc: 'Key that authenticates the web service, so that the gateway trusts its `X-Forwarded-…` headers',
  }),
  PUBLIC_BASE_URL: optional(url({ doc: 'Base URL of links; default: the host of each request' })),
  SITE_NAME: text({ doc: 'Name of the repository on its pages', fallback: 'Knowledge Repository' }),
  OAI_PREFIX: text({
    doc: 'The domain name in OAI identifiers, as for records and packages; default: the host of the repository',
    fallback: '',
  }),
  CONTACT_EMAIL: text({
    doc: 'E-mail address of the administrator, for harvesters (OAI-PMH) and reports of vulnerabilities (security.txt); default: `postmaster` at the host of the repository',
    fallback: '',
  }),
});

/** @throws ConfigError naming every problem found */
export function readConfig(env: Environment): WebConfig {
  const values = readEnvironment(env, VARIABLES);
  return {
    httpHost: values.HTTP_HOST,
    httpPort: values.HTTP_PORT,
    healthPort: values.HEALTH_PORT,
    gatewayUrl: values.GATEWAY_URL,
    webKey: values.WEB_KEY,
    publicBaseUrl: values.PUBLIC_BASE_URL,
    siteName: values.SITE_NAME,
    oaiPrefix: values.OAI_PREFIX,
    contactEmail: values.CONTACT_EMAIL,
  };
}
