import { randomBytes } from 'node:crypto';
import { readJson, writePrivateJson } from '../private-file.ts';
import { eachService, type ServiceName } from './service-names.ts';

/** Holders of credentials: every service, and the operator of the machine. */
export type Caller = ServiceName | 'operator';

export interface Secrets {
  postgresPassword: string;
  filesTicketKey: string;
  accessLinksTicketKey: string;
  linkTokenKey: string;
  /** Encrypts answers that the gateway stores. */
  sealingKey: string;
  /** Proves the web service to the gateway. */
  webKey: string;
  /** By callee, what each of its callers shares with it. */
  callerKeys: Record<ServiceName, Record<Caller, string>>;
  databasePasswords: Record<ServiceName, string>;
  busPasswords: Record<Caller, string>;
}

/** The secrets of a data folder, which may be of an earlier release. */
type StoredSecrets = Partial<Secrets> & {
  /** By service, what all its callers knew. The gateway sealed with its own. */
  internalKeys?: Partial<Record<ServiceName, string>>;
};

/** Reads the secrets of a data folder, and generates missing ones. */
export async function loadSecrets(file: string): Promise<Secrets> {
  const { internalKeys, ...stored } = (await readJson<StoredSecrets>(file)) ?? {};
  const secrets: Secrets = {
    postgresPassword: newSecret(),
    filesTicketKey: newSecret(),
    accessLinksTicketKey: newSecret(),
    linkTokenKey: newSecret(),
    sealingKey: internalKeys?.gateway ?? newSecret(),
    webKey: newSecret(),
    ...stored,
    callerKeys: eachService((callee) => ({ ...oneForEachCaller(), ...stored.callerKeys?.[callee] })),
    databasePasswords: { ...eachService(newSecret), ...stored.databasePasswords },
    busPasswords: { ...oneForEachCaller(), ...stored.busPasswords },
  };
  await writePrivateJson(file, secrets);
  return secrets;
}

function oneForEachCaller(): Record<Caller, string> {
  return { operator: newSecret(), ...eachService(newSecret) };
}

function newSecret(): string {
  return randomBytes(32).toString('base64url');
}
