import { rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { freePorts } from '../backends/free-port.ts';
import type { Variables } from '../backends/program.ts';
import { type AdminEndpoint, type AdminService, adminEndpoints } from './admin-endpoint.ts';
import type { CreatedUser } from './create-user.ts';
import { type DataFolder, dataFolder } from './data-folder.ts';
import { openParts, type PartName, type Parts, type ReplicaName } from './parts.ts';
import { choosePorts, type ProcessPorts, type StackPorts } from './ports.ts';
import { prepareFolder } from './prepare-folder.ts';
import { openProcessList } from './process-list.ts';
import { startLogRotation } from './rotate-logs.ts';
import { runtimeFile } from './runtime-file.ts';
import { loadSecrets } from './secrets.ts';
import { type SystemContext, serviceEnvironment, webEnvironment } from './service-environment.ts';
import { SERVICES, type ServiceName } from './service-names.ts';
import { serviceProgram } from './service-program.ts';
import type { StackOptions } from './stack-options.ts';
import { startBackends } from './start-backends.ts';

export interface RunningStack {
  baseUrl: string;
  /** Of the second gateway, where there are two. */
  replicaUrl: string | undefined;
  admin: Record<AdminService, AdminEndpoint>;
  databaseUrls: Record<ServiceName, string>;
  /** With the rights of the operator. */
  natsUrl: string;
  createUser(name: string, options?: { admin?: boolean }): Promise<CreatedUser>;
  /** Undefined while a part is down. */
  pid(part: PartName): number | undefined;
  /** Sends a signal to one part, which is then started again. */
  kill(part: PartName, signal: NodeJS.Signals): void;
  /**
   * Ends a part at once and starts it with further variables in its environment. When that process ends, the next gets
   * the next of those given, and in the end none. Resolves when the first one is ready.
   */
  relaunch(part: PartName, ...further: Variables[]): Promise<void>;
  /** Stops a part permanently and gracefully. */
  retire(part: PartName): Promise<void>;
  /**
   * Starts a second process of a service on the same database; it receives no calls, but does all other work.
   */
  startReplica(service: 'packages' | 'records'): Promise<ReplicaName>;
  /** Ends every process: within 5 s in good order, at once when `now`. May be called again to hurry. */
  stop(how?: { now?: boolean }): Promise<void>;
}

/**
 * Starts Postgres, NATS and the services on a data folder, and restarts programs that end.
 * @throws AlreadyRunning when another process does so already; Error that names the part that did not start, once
 * everything was stopped.
 */
export async function startStack(options: StackOptions): Promise<RunningStack> {
  const folder = dataFolder(resolve(options.dataDir));
  await prepareFolder(folder);
  const processes = await openProcessList(folder.processesFile);
  const runtime = runtimeFile(folder.runtimeFile, options.onProgress);
  const parts = openParts({
    processes,
    onProgress: options.onProgress,
    onLaunch: runtime.refresh,
    signal: options.signal,
  });
  const rotation = new AbortController();
  void startLogRotation(folder.logs, { onProgress: options.onProgress, signal: rotation.signal });
  const stop = async (how?: { now?: boolean }): Promise<void> => {
    rotation.abort();
    await parts.stop(how);
    await runtime.close();
    await rm(folder.processesFile, { force: true });
  };
  const abort = (): void => void stop();
  options.signal?.addEventListener('abort', abort);
  try {
    const { stack, ports } = await startParts(options, folder, parts, stop);
    await runtime.open(() => runtimeOf(stack, folder, ports, options));
    return stack;
  } catch (thrown) {
    await stop();
    throw thrown;
  } finally {
    options.signal?.removeEventListener('abort', abort);
  }
}

async function startParts(
  options: StackOptions,
  folder: DataFolder,
  parts: Parts,
  stop: RunningStack['stop'],
): Promise<{ stack: RunningStack; ports: StackPorts }> {
  const secrets = await loadSecrets(folder.secretsFile);
  const ports = await choosePorts(options.port, { isReplicated: options.isReplicated === true });
  const backends = await startBackends({ options, folder, secrets, ports, parts });
  const context: SystemContext = {
    ...backends,
    hasPages: options.hasPages === true,
    ports,
    secrets,
    filesDir: folder.files,
    vocabularyDir: folder.vocabularies,
    logLevel: options.logLevel,
    outer: options.environment,
  };
  await startServices(parts, folder, options, context);
  options.signal?.throwIfAborted();
  const admin = adminEndpoints(secrets, (service) => `127.0.0.1:${ports.services[service].grpc}`);
  const stack = {
    ...backends,
    baseUrl: `http://127.0.0.1:${ports.http}`,
    replicaUrl: ports.replicas && `http://127.0.0.1:${ports.replicas.http}`,
    admin,
    createUser: async (name: string, rights?: { admin?: boolean }) => {
      // NOTE: a gRPC client takes 40 MB, and most runs make no user.
      const { createUser } = await import('./create-user.ts');
      return createUser(admin.gateway, name, rights);
    },
    pid: parts.pid,
    kill: parts.kill,
    relaunch: parts.relaunch,
    retire: parts.retire,
    startReplica: (service: ServiceName) => startReplica({ parts, folder, options, context }, service),
    stop,
  };
  return { stack, ports };
}

/** All at once; fails as soon as one fails. */
async function startServices(
  parts: Parts,
  folder: DataFolder,
  options: StackOptions,
  context: SystemContext,
): Promise<void> {
  const starts = SERVICES.map(async (name) => {
    const environment = serviceEnvironment(name, context);
    const program = serviceProgram({
      name,
      environment: (await options.environmentOf?.(name, environment)) ?? environment,
      healthPort: context.ports.services[name].health,
      logFile: folder.logFile(name),
      isLasting: options.durability === 'safe',
      checkout: options.checkout,
    });
    return parts.start(name, program);
  });
  if (context.hasPages) {
    const program = serviceProgram({
      name: 'web',
      environment: webEnvironment(context),
      healthPort: context.ports.web.health,
      logFile: folder.logFile('web'),
      isLasting: options.durability === 'safe',
    });
    starts.push(parts.start('web', program));
  }
  const { replicas } = context.ports;
  if (replicas !== undefined)
    for (const name of SERVICES)
      starts.push(startReplicaOn(replicas, { parts, folder, options, context }, name));
  await Promise.all(starts);
}

/** On unannounced ports. */
async function startReplica(replica: ReplicaContext, service: ServiceName): Promise<ReplicaName> {
  const [grpc = 0, health = 0] = await freePorts(2);
  const { ports } = replica.context;
  const services = { ...ports.services, [service]: { grpc, health } };
  await startReplicaOn({ ...ports, services }, replica, service);
  return `${service}-replica`;
}

interface ReplicaContext {
  parts: Parts;
  folder: DataFolder;
  options: StackOptions;
  context: SystemContext;
}

function startReplicaOn(
  own: ProcessPorts,
  { parts, folder, options, context }: ReplicaContext,
  service: ServiceName,
): Promise<void> {
  const name: ReplicaName = `${service}-replica`;
  const program = serviceProgram({
    name: service,
    environment: serviceEnvironment(service, context, own),
    healthPort: own.services[service].health,
    logFile: folder.logFile(name),
    isLasting: options.durability === 'safe',
    checkout: options.checkout,
  });
  return parts.start(name, program);
}

/** Content of `runtime.json`. */
function runtimeOf(
  stack: RunningStack,
  folder: DataFolder,
  ports: StackPorts,
  { environment }: StackOptions,
): unknown {
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
    admin: stack.admin,
    databases: stack.databaseUrls,
    nats: stack.natsUrl,
    // Absent if the bytes of files are in a bucket.
    ...(environment['FILES_STORE'] === 's3' ? {} : { files_folder: folder.files }),
    services: Object.fromEntries(services),
  };
}
