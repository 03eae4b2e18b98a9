import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type AdminService,
  adminEndpoints,
  databaseUrl,
  eachService,
  type Secrets,
  type ServiceName,
  writePrivateJson,
} from '@kr/local-stack';
import { DATABASE_PREFIX } from './backends.ts';
import { withUser } from './service-secrets.ts';

/** Where an operator reaches the data: the servers without user, and the store of files. */
export interface OperatorData {
  postgres?: string | undefined;
  nats?: string | undefined;
  filesFolder?: string | undefined;
}

export interface OperatorPlaces {
  /** Of the public API. */
  baseUrl: string;
  addressOf(service: AdminService): string;
  data: OperatorData;
}

/** Creates a folder with which `kr admin … --data-dir FOLDER` works on a deployed system. */
export async function writeOperatorFolder(
  folder: string,
  secrets: Secrets,
  places: OperatorPlaces,
): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writePrivateJson(join(folder, 'runtime.json'), operatorRuntime(secrets, places));
}

/** The content of `runtime.json` in that folder. */
export function operatorRuntime(secrets: Secrets, { baseUrl, addressOf, data }: OperatorPlaces): object {
  return { base_url: baseUrl, admin: adminEndpoints(secrets, addressOf), ...dataOf(secrets, data) };
}

function dataOf(secrets: Secrets, { postgres, nats, filesFolder }: OperatorData) {
  const urlOf = (server: string) => (service: ServiceName) =>
    databaseUrl(server, DATABASE_PREFIX, service, secrets.databasePasswords[service]);
  return {
    ...(postgres === undefined ? {} : { databases: eachService(urlOf(postgres)) }),
    ...(nats === undefined ? {} : { nats: withUser(nats, 'operator', secrets.busPasswords.operator) }),
    ...(filesFolder === undefined ? {} : { files_folder: filesFolder }),
  };
}
