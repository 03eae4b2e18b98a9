import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  dropDatabases,
  type PartName,
  type RunningStack,
  type ServiceName,
  type ServiceVariables,
  startStack,
} from '@kr/local-stack';
import { type TestSettings, testSettings } from '@kr/service-config';
import { assertNoDrift } from './assert-no-drift.ts';
import type { FaultLog } from './faults/fault-log.ts';
import type { FaultProxy } from './faults/fault-proxy.ts';
import { openProxiedEdges, type ProxiedEdge, type ProxiedEdges } from './faults/proxied-edges.ts';
import { openPostgres } from './postgres.ts';
import { newRunFolder } from './run-folder.ts';

export { testSettings } from '@kr/service-config';

/** A listing waits for the index up to the deadline of the call. */
const LONG_WAIT = { ownWritesWaitMs: 30_000 };
/** Tests send as many requests as they need. */
const NO_LIMITS = {
  MAX_REQUESTS_IN_FLIGHT: '10000',
  RATE_LIMIT_ANONYMOUS: '0',
  RATE_LIMIT_USER: '0',
  RATE_LIMIT_FAILED_CREDENTIALS: '0',
};

/**
 * Long timeouts for slow machines, in systems without silent peers: a late call that is repeated would be executed twice.
 */
const PATIENCE = { rpcDeadlineMs: 30_000, idleTimeoutMs: 400_000 };

/** Settings for a part that is restarted: the given ones, and the others as the system was started with. */
export function patientSettings(settings: Partial<TestSettings>): { TEST_SETTINGS: string } {
  return testSettings({ ...LONG_WAIT, ...PATIENCE, ...settings });
}

export interface SystemOptions {
  /** Log level of the services; default `warn`. */
  logLevel?: string;
  /** Extra variables for all services. By default requests are not limited. */
  environment?: Readonly<Record<string, string>>;
  /** Constants that differ from those in production. */
  settings?: Partial<TestSettings>;
  /** A separate Postgres with real durability, which may be killed. */
  ownPostgres?: boolean;
  /** An existing data folder, of a system with `ownPostgres`; removed when the system stops. */
  dataDir?: string;
  /** Two processes of each service, as `StackOptions` has it. */
  isReplicated?: boolean;
  /** Serves pages too. */
  hasPages?: boolean;
  /** Connections routed through fault proxies. */
  proxied?: readonly ProxiedEdge[];
  /** Root of the checkout with the services; default: this one. */
  checkout?: string;
  /**
   * The index is not compared with the services when the system stops, because the test changes tables itself or retires
   * services.
   */
  skipsDriftCheck?: boolean;
  /** Changes the environment of each service before it starts; proxies then forward to the addresses it returns. */
  environmentOf?(service: ServiceName, environment: ServiceVariables): Promise<ServiceVariables>;
}

/** A running system as tests see it: their own or a shared one. */
export interface SharedSystem extends AsyncDisposable {
  baseUrl: string;
  /** Token of a first user without special rights. */
  token: string;
  user: string;
  databaseUrls: Record<ServiceName, string>;
  /** The variables that each service was first started with. */
  environments: Record<ServiceName, ServiceVariables>;
  natsUrl: string;
  /** One file for each part; removed when the system stops. */
  logDir: string;
  /** Folder of the files service with the bytes of all files. */
  filesDir: string;
  /** A shared system appends to the name. */
  createUser(name: string, options?: { admin?: boolean }): Promise<{ name: string; token: string }>;
  /** Undefined while the part is down. */
  pid(part: PartName): number | undefined;
  /** Sends a signal to one part, which the supervisor then restarts. */
  kill(part: PartName, signal: NodeJS.Signals): void;
  /** Restarts one part with further variables, as `RunningStack` has it. */
  relaunch: RunningStack['relaunch'];
  /** @throws Error when the index differs from the services */
  assertNoDrift(): Promise<void>;
  /**
   * Stops the system, or returns a shared one. Without faults its index must equal the services (`skipsDriftCheck` is the
   * exception).
   *
   * @throws Error when it does not, after everything was stopped
   */
  stop(): Promise<void>;
}

/** A system for one test file alone. */
export interface TestSystem extends SharedSystem {
  /** URLs of all gateways. */
  baseUrls: readonly string[];
  /** Messages of the supervisor about starts, ends and restarts of parts. */
  progress: readonly string[];
  retire: RunningStack['retire'];
  startReplica: RunningStack['startReplica'];
  /** @throws Error when the edge is not in `proxied` */
  proxy(edge: ProxiedEdge): FaultProxy;
  /** The log of all proxies. */
  faults: FaultLog;
}

/**
 * Starts the whole system on free ports, with a separate NATS server, databases and data folder; several may run at the same
 * time. The databases are in the run's Postgres, or with `ownPostgres` in a separate one that may be killed.
 */
export async function startSystem(options: SystemOptions = {}): Promise<TestSystem> {
  const dataDir = options.dataDir ?? (await newRunFolder('system'));
  const prefix = `system_${randomBytes(4).toString('hex')}`;
  const postgres = options.ownPostgres ? undefined : await openPostgres(process.env['TEST_DATABASE_URL']);
  const progress: string[] = [];
  const environments: Partial<Record<ServiceName, ServiceVariables>> = {};
  const edges = openProxiedEdges(options.proxied ?? []);
  const clear = async (): Promise<void> => {
    await edges.stop();
    if (postgres !== undefined) await dropDatabases(postgres.url, prefix);
    await postgres?.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
  try {
    const stack = await startStack({
      dataDir,
      port: 0,
      logLevel: options.logLevel ?? 'warn',
      durability: postgres === undefined ? 'safe' : 'fast',
      ...(postgres === undefined ? {} : { postgres: { url: postgres.url, prefix } }),
      ...(options.checkout === undefined ? {} : { checkout: options.checkout }),
      isReplicated: options.isReplicated ?? false,
      hasPages: options.hasPages ?? false,
      environment: {
        ...process.env,
        ...NO_LIMITS,
        ...testSettings({
          ...LONG_WAIT,
          ...(isUndisturbed(options) && PATIENCE),
          ...options.settings,
        }),
        ...options.environment,
      },
      environmentOf: async (service, given) => {
        const own = (await options.environmentOf?.(service, given)) ?? given;
        environments[service] = own;
        return edges.environmentOf(service, own);
      },
      onProgress: (sentence) => progress.push(sentence),
    });
    const isCompared = isUndisturbed(options) && options.skipsDriftCheck !== true;
    const all = environments as Record<ServiceName, ServiceVariables>;
    return await systemOf(stack, { dataDir, progress, environments: all, edges, isCompared, clear });
  } catch (thrown) {
    await clear();
    throw thrown;
  }
}

function isUndisturbed({ ownPostgres, isReplicated, proxied, checkout }: SystemOptions): boolean {
  return !ownPostgres && !isReplicated && proxied === undefined && checkout === undefined;
}

interface SystemContext {
  dataDir: string;
  progress: readonly string[];
  environments: Record<ServiceName, ServiceVariables>;
  edges: ProxiedEdges;
  isCompared: boolean;
  clear(): Promise<void>;
}

async function systemOf(
  stack: RunningStack,
  { dataDir, progress, environments, edges, isCompared, clear }: SystemContext,
): Promise<TestSystem> {
  let stopping: Promise<void> | undefined;
  const compareAndStop = async (): Promise<void> => {
    try {
      if (isCompared) await assertNoDrift(stack.admin.search);
    } finally {
      await stack.stop();
      await clear();
    }
  };
  const stop = (): Promise<void> => {
    stopping ??= compareAndStop();
    return stopping;
  };
  const createUser: RunningStack['createUser'] = async (name, options) => {
    for (let again = 0; ; again += 1) {
      try {
        return await stack.createUser(name, options);
      } catch (thrown) {
        const isLate = thrown instanceof Error && 'kind' in thrown && thrown.kind === 'unavailable';
        if (!isLate || again === 20) throw thrown;
        await sleep(1_000);
      }
    }
  };
  const { name, token } = await createUser('tester').catch(async (thrown: unknown) => {
    await stack.stop();
    throw thrown;
  });
  return {
    baseUrl: stack.baseUrl,
    baseUrls: stack.replicaUrl === undefined ? [stack.baseUrl] : [stack.baseUrl, stack.replicaUrl],
    token,
    user: name,
    databaseUrls: stack.databaseUrls,
    environments,
    natsUrl: stack.natsUrl,
    progress,
    logDir: join(dataDir, 'logs'),
    filesDir: join(dataDir, 'files'),
    createUser,
    pid: stack.pid,
    kill: stack.kill,
    relaunch: stack.relaunch,
    retire: stack.retire,
    startReplica: stack.startReplica,
    proxy: edges.proxy,
    faults: edges.log,
    assertNoDrift: () => assertNoDrift(stack.admin.search),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
