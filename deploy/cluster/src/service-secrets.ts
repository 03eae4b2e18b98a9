import { databaseUrl, type ProgramName, type Secrets, serviceKeys } from '@kr/local-stack';
import { type Backends, DATABASE_PREFIX } from './backends.ts';

/** The secret variables of one service: its keys, and the addresses of servers with its passwords in them. */
export function serviceSecrets(
  service: ProgramName,
  secrets: Secrets,
  { postgres, nats }: Backends,
  prefix = DATABASE_PREFIX,
): Readonly<Record<string, string>> {
  if (service === 'web') return { WEB_KEY: secrets.webKey };
  return {
    DATABASE_URL: databaseUrl(postgres, prefix, service, secrets.databasePasswords[service]),
    NATS_URL: withUser(nats, service, secrets.busPasswords[service]),
    ...serviceKeys(service, secrets),
  };
}

/** The address of a server with a user in it. */
export function withUser(server: string, user: string, password: string): string {
  const url = new URL(server);
  url.username = user;
  url.password = password;
  // NOTE: a bare server has no path, and clients of NATS know none.
  return url.href.replace(/\/$/, '');
}
