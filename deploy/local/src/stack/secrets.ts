import { randomBytes } from 'node:crypto';
import { readJson, writePrivateJson } from './private-file.ts';
import { SERVICES, type ServiceName } from './service-names.ts';

export interface Secrets {
  postgresPassword: string;
  filesTicketKey: string;
  accessLinksTicketKey: string;
  linkTokenKey: string;
  internalKeys: Record<ServiceName, string>;
  databasePasswords: Record<ServiceName, string>;
  busPasswords: Record<ServiceName | 'operator', string>;
}

/** Reads the secrets of a data folder, and makes those that are not there yet. */
export async function loadSecrets(file: string): Promise<Secrets> {
  const kept = await readJson<Partial<Secrets>>(file);
  const secrets: Secrets = {
    postgresPassword: newSecret(),
    filesTicketKey: newSecret(),
    accessLinksTicketKey: newSecret(),
    linkTokenKey: newSecret(),
    ...kept,
    internalKeys: { ...oneEach(), ...kept?.internalKeys },
    databasePasswords: { ...oneEach(), ...kept?.databasePasswords },
    busPasswords: { ...oneEach(), operator: newSecret(), ...kept?.busPasswords },
  };
  await writePrivateJson(file, secrets);
  return secrets;
}

function oneEach(): Record<ServiceName, string> {
  const pairs = SERVICES.map((name) => [name, newSecret()] as const);
  return Object.fromEntries(pairs) as Record<ServiceName, string>;
}

function newSecret(): string {
  return randomBytes(32).toString('base64url');
}
