import { resolve } from 'node:path';
import { natsUrl, prepareNats } from '../backends/nats.ts';
import { postgresUrl, preparePostgres } from '../backends/postgres.ts';
import { busUsers } from './bus-users.ts';
import type { DataFolder } from './data-folder.ts';
import { ensureDatabases } from './databases.ts';
import type { Parts } from './parts.ts';
import type { StackPorts } from './ports.ts';
import type { Caller, Secrets } from './secrets.ts';
import { eachService, type ServiceName } from './service-names.ts';
import type { StackOptions } from './stack-options.ts';

export interface Backends {
  /** The operator's. */
  natsUrl: string;
  natsUrls: Record<ServiceName, string>;
  databaseUrls: Record<ServiceName, string>;
}

interface BackendContext {
  options: StackOptions;
  folder: DataFolder;
  secrets: Secrets;
  ports: StackPorts;
  parts: Parts;
}

const TOOLCHAIN_DIR = resolve(import.meta.dirname, '../../../../.toolchain');

/** Starts Postgres and NATS side by side and makes the databases of the services. */
export async function startBackends(context: BackendContext): Promise<Backends> {
  const [adminUrl] = await Promise.all([startDatabaseServer(context), startMessaging(context)]);
  const { options, secrets, ports } = context;
  const prefix = options.postgres?.prefix ?? 'kr';
  const urlFor = (user: Caller) => natsUrl(ports.nats, { user, password: secrets.busPasswords[user] });
  return {
    natsUrl: urlFor('operator'),
    natsUrls: eachService(urlFor),
    databaseUrls: await ensureDatabases(adminUrl, prefix, secrets.databasePasswords),
  };
}

async function startDatabaseServer({
  options,
  folder,
  secrets,
  ports,
  parts,
}: BackendContext): Promise<string> {
  if (options.postgres !== undefined) return options.postgres.url;
  const program = await preparePostgres({
    dataDir: folder.postgres,
    logFile: folder.logFile('postgres'),
    password: secrets.postgresPassword,
    durability: options.durability,
    port: ports.postgres,
  });
  await parts.start('postgres', program);
  return postgresUrl(secrets.postgresPassword, ports.postgres);
}

async function startMessaging({ options, folder, secrets, ports, parts }: BackendContext): Promise<void> {
  const program = await prepareNats({
    dataDir: folder.nats,
    logFile: folder.logFile('nats'),
    toolchainDir: TOOLCHAIN_DIR,
    durability: options.durability,
    port: ports.nats,
    users: busUsers(secrets.busPasswords),
    onProgress: options.onProgress,
  });
  await parts.start('nats', program);
}
