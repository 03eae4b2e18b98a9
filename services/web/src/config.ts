import { type Environment, EnvReader, readPort } from '@kr/service-config';

export interface WebConfig {
  httpHost: string;
  /** 0 = any free port, as for `healthPort`. */
  httpPort: number;
  healthPort: number;
  /** Where the gateway serves the public API. */
  gatewayUrl: URL;
  /** Proves to the gateway that the client address in requests is right. */
  webKey: string;
  siteName: string;
}

/** @throws ConfigError naming every problem found */
export function readConfig(env: Environment): WebConfig {
  const read = new EnvReader(env);
  const config: WebConfig = {
    httpHost: read.string('HTTP_HOST', {
      doc: 'The address that the public port is opened on',
      fallback: '127.0.0.1',
    }),
    httpPort: readPort(read, 'HTTP_PORT', { doc: 'The port of the public API', fallback: 8080 }),
    healthPort: readPort(read, 'HEALTH_PORT', { doc: 'The port of `/livez` and `/readyz`', fallback: 0 }),
    gatewayUrl: read.url('GATEWAY_URL', {
      doc: 'Internal URL of the gateway, whose public API the pages show',
    }),
    webKey: read.secret('WEB_KEY', {
      doc: 'Key with which the web service proves itself, so that the gateway trusts the client address it forwards',
    }),
    siteName: read.string('SITE_NAME', {
      doc: 'Name of the repository on its pages',
      fallback: 'Knowledge Repository',
    }),
  };
  read.done();
  return config;
}
