import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { natsUrl, prepareNats } from '../backends/nats.ts';
import { postgresUrl, preparePostgres } from '../backends/postgres.ts';
import type { Program } from '../backends/program.ts';
import { type CreatedUser, createUser, type IdentityAccess } from './create-user.ts';
import { type DataFolder, dataFolder } from './data-folder.ts';
import { ensureDatabases } from './databases.ts';
import { choosePorts, type StackPorts } from './ports.ts';
import { writePrivateJson } from './private-file.ts';
import { openProcessList } from './process-list.ts';
import { loadSecrets, type Secrets } from './secrets.ts';
import { serviceEnvironment } from './service-environment.ts';
import { SERVICES, type ServiceName } from './service-names.ts';
import { serviceProgram } from './service-program.ts';
import { SupervisedPart } from './supervised-part.ts';

export interface StackOptions {
  dataDir: string;
  /** Of the public API; 0 takes any free one. */
  port: number;
  logLevel: string;
  /** `safe` writes through to the disk; `fast` is for systems that nobody misses. */
  durability: 'safe' | 'fast';
  /** A running Postgres to use, by superuser URL, with the prefix of the database names; else one is started. */
  postgres?: { url: string; prefix: string };
  /** Goes to all services, below what the stack sets itself. */
  environment: Readonly<Record<string, string | undefined>>;
  onProgress(sentence: string): void;
  /** Ends a start under way. */
  signal?: AbortSignal;
}

export type PartName = ServiceName | 'postgres' | 'nats';

export interface RunningStack {
  baseUrl: string;
  identity: IdentityAccess;
  databaseUrls: Record<ServiceName, string>;
  natsUrl: string;
  createUser(name: string, options?: { admin?: boolean }): Promise<CreatedUser>;
  /** Undefined while a part is down. */
  pid(part: PartName): number | undefined;
  /** Sends a signal to one part, which is then started again. */
  kill(part: PartName, signal: NodeJS.Signals): void;
  /** Ends every process: within 5 s in good order, at once when `now`. May be called again to hurry. */
  stop(how?: { now?: boolean }): Promise<void>;
}

const TOOLCHAIN_DIR = resolve(import.meta.dirname, '../../../../.toolchain');
const SERVICE_GRACE_MS = 3_000;
const BACKEND_GRACE_MS = 1_500;
const LARGEST_LOG = 16 * 1024 * 1024;

/**
 * Starts Postgres, NATS and the six services on a data folder and keeps them running.
 * @throws AlreadyRunning when another process does so already; Error naming the part that did not start, after everything was stopped.
 */
export async function startStack(options: StackOptions): Promise<RunningStack> {
  const folder = dataFolder(resolve(options.dataDir));
  await prepareFolder(folder);
  const processes = await openProcessList(folder.processesFile);
  const secrets = await loadSecrets(folder.secretsFile);
  const ports = await choosePorts(options.port);
  const parts = new Map<PartName, SupervisedPart>();
  const stop = stopAll(parts, folder);
  let describe: (() => Promise<void>) | undefined;
  const start = async (name: PartName, program: Program): Promise<void> => {
    options.signal?.throwIfAborted();
    const part = new SupervisedPart(program, {
      onLaunch: (_, pid) => {
        processes.add(name, pid);
        void describe?.();
      },
      onProgress: options.onProgress,
    });
    parts.set(name, part);
    await part.start();
    options.onProgress(`${program.name} is up`);
  };
  const abort = (): void => void stop().catch(() => undefined);
  options.signal?.addEventListener('abort', abort);
  try {
    const [adminUrl] = await Promise.all([
      startDatabaseServer(options, folder, secrets, ports, start),
      prepareNats(natsOptions(options, folder, ports)).then((program) => start('nats', program)),
    ]);
    const databaseUrls = await ensureDatabases(
      adminUrl,
      options.postgres?.prefix ?? 'kr',
      secrets.databasePasswords,
    );
    const surroundings = {
      ports,
      secrets,
      databaseUrls,
      natsUrl: natsUrl(ports.nats),
      filesDir: folder.files,
      logLevel: options.logLevel,
      outer: options.environment,
    };
    options.onProgress('starting the services');
    await allOrFirstFailure(
      SERVICES.map((name) =>
        start(
          name,
          serviceProgram({
            name,
            environment: serviceEnvironment(name, surroundings),
            healthPort: ports.services[name].health,
            logFile: folder.logFile(name),
          }),
        ),
      ),
    );
    options.signal?.throwIfAborted();
    const identity = {
      address: `127.0.0.1:${ports.services.gateway.grpc}`,
      key: secrets.internalKeys.gateway,
    };
    const stack: RunningStack = {
      baseUrl: `http://127.0.0.1:${ports.http}`,
      identity,
      databaseUrls,
      natsUrl: natsUrl(ports.nats),
      createUser: (name, rights) => createUser(identity, name, rights),
      pid: (part) => parts.get(part)?.pid,
      kill: (part, signal) => parts.get(part)?.kill(signal),
      stop,
    };
    describe = () => writePrivateJson(folder.runtimeFile, runtimeOf(stack, folder, ports));
    await describe();
    return stack;
  } catch (thrown) {
    await stop();
    throw thrown;
  } finally {
    options.signal?.removeEventListener('abort', abort);
  }
}

async function prepareFolder(folder: DataFolder): Promise<void> {
  for (const path of [folder.root, folder.logs, folder.files]) await mkdir(path, { recursive: true });
  for (const part of ['postgres', 'nats', ...SERVICES]) await setAsideLargeLog(folder.logFile(part));
}

async function setAsideLargeLog(file: string): Promise<void> {
  const size = await stat(file).then(
    (found) => found.size,
    () => 0,
  );
  if (size > LARGEST_LOG) await rename(file, `${file}.1`);
}

async function startDatabaseServer(
  options: StackOptions,
  folder: DataFolder,
  secrets: Secrets,
  ports: StackPorts,
  start: (name: PartName, program: Program) => Promise<void>,
): Promise<string> {
  if (options.postgres !== undefined) return options.postgres.url;
  const program = await preparePostgres({
    dataDir: folder.postgres,
    logFile: folder.logFile('postgres'),
    password: secrets.postgresPassword,
    durability: options.durability,
    port: ports.postgres,
  });
  await start('postgres', program);
  return postgresUrl(secrets.postgresPassword, ports.postgres);
}

function natsOptions(
  options: StackOptions,
  folder: DataFolder,
  ports: StackPorts,
): Parameters<typeof prepareNats>[0] {
  return {
    dataDir: folder.nats,
    logFile: folder.logFile('nats'),
    toolchainDir: TOOLCHAIN_DIR,
    durability: options.durability,
    port: ports.nats,
    onProgress: options.onProgress,
  };
}

/** Fails as soon as one fails, and leaves no rejection unheard. */
async function allOrFirstFailure(starts: Promise<void>[]): Promise<void> {
  void Promise.allSettled(starts);
  await Promise.all(starts);
}

/** Services first, so that they can still say goodbye to the backends. */
function stopAll(parts: Map<PartName, SupervisedPart>, folder: DataFolder): RunningStack['stop'] {
  return async ({ now = false } = {}) => {
    const grace = now ? [0, 0] : [SERVICE_GRACE_MS, BACKEND_GRACE_MS];
    const all = [...parts.entries()];
    const services = all.filter(([name]) => name !== 'postgres' && name !== 'nats');
    const backends = all.filter(([name]) => name === 'postgres' || name === 'nats');
    await Promise.all(services.map(([, part]) => part.stop(grace[0] ?? 0)));
    await Promise.all(backends.map(([, part]) => part.stop(grace[1] ?? 0)));
    await Promise.all([folder.runtimeFile, folder.processesFile].map((file) => rm(file, { force: true })));
  };
}

function runtimeOf(stack: RunningStack, folder: DataFolder, ports: StackPorts): unknown {
  const services = SERVICES.map((name) => [
    name,
    {
      pid: stack.pid(name),
      grpc: `127.0.0.1:${ports.services[name].grpc}`,
      health: `http://127.0.0.1:${ports.services[name].health}`,
      log: folder.logFile(name),
    },
  ]);
  return {
    pid: process.pid,
    base_url: stack.baseUrl,
    identity: stack.identity,
    data_dir: join(folder.root),
    services: Object.fromEntries(services),
  };
}
