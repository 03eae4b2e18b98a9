import { join } from 'node:path';
import { SERVICES, type ServiceName, type ServiceVariables, serviceProgram } from '@kr/local-stack';
import { freePort, runProgram, stopProcess } from '@kr/local-stack/backends';
import { startSystem } from '@kr/testbed/system';
import { type Front, openFront } from './front.ts';

/** A system of which one process after the other is replaced by one of this checkout, while it is used. */
export interface RollingSystem extends AsyncDisposable {
  baseUrl: string;
  token: string;
  /**
   * Starts the successor of a service's process, and once both are ready runs `beside`, with their HTTP addresses if
   * they are gateways; then stops the former one gracefully.
   */
  replace(
    service: ServiceName,
    beside?: (gateways: { former: string; next: string }) => Promise<void>,
  ): Promise<void>;
}

interface Ports {
  grpc: number;
  /** Of the gateway's public API, or of the bytes of files. */
  http: number | undefined;
}

/** @param checkout whose services run at first; this one unless given */
export async function startRollingSystem(checkout?: string): Promise<RollingSystem> {
  const fronts = new Map<string, Front>();
  for (const name of [...SERVICES, 'http', 'content']) fronts.set(name, await openFront());
  const environments = new Map<ServiceName, ServiceVariables>();
  const successors: (() => Promise<void>)[] = [];
  const front = (name: string): Front => fronts.get(name) as Front;
  const lead = (service: ServiceName, all: readonly Ports[]): void => {
    front(service).lead(all.map(({ grpc }) => grpc));
    const http = all.flatMap((one) => one.http ?? []);
    if (http.length > 0) front(service === 'gateway' ? 'http' : 'content').lead(http);
  };
  const baseUrl = `http://127.0.0.1:${front('http').port}`;
  const behindFronts = async (service: ServiceName, given: ServiceVariables): Promise<ServiceVariables> => {
    lead(service, [portsOf(given)]);
    const addresses = Object.keys(given)
      .filter((name) => name.endsWith('_ADDRESS'))
      .map((name) => [name, `127.0.0.1:${front(serviceOf(name)).port}`]);
    const environment = {
      ...given,
      ...Object.fromEntries(addresses),
      PUBLIC_BASE_URL: baseUrl,
      ...(given['FILES_CONTENT_URL'] && { FILES_CONTENT_URL: `http://127.0.0.1:${front('content').port}` }),
    };
    environments.set(service, environment);
    return environment;
  };
  const closeFronts = () => Promise.all([...fronts.values()].map((one) => one.close()));
  const system = await startSystem({
    ...(checkout === undefined ? {} : { checkout }),
    environmentOf: behindFronts,
    // Its own processes have been replaced by then.
    skipsDriftCheck: true,
  }).catch(async (error: unknown) => {
    await closeFronts();
    throw error;
  });
  return {
    baseUrl,
    token: system.token,
    async replace(service, beside) {
      const former = environments.get(service) as ServiceVariables;
      const next = await onNewPorts(former);
      const healthPort = Number(next['HEALTH_PORT']);
      const logFile = join(system.logDir, `${service}-next.log`);
      const process = await runProgram(
        serviceProgram({ name: service, environment: next, healthPort, logFile, isLasting: false }),
      );
      successors.push(() => stopProcess(process, 'SIGTERM', 3_000));
      lead(service, [portsOf(former), portsOf(next)]);
      await beside?.({ former: urlOf(former), next: urlOf(next) });
      lead(service, [portsOf(next)]);
      await system.retire(service);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(successors.map((stop) => stop()));
      await system.stop();
      await closeFronts();
    },
  };
}

function portsOf(environment: ServiceVariables): Ports {
  const http = environment['HTTP_PORT'] ?? environment['CONTENT_PORT'];
  return { grpc: Number(environment['GRPC_PORT']), http: http === undefined ? undefined : Number(http) };
}

function urlOf(environment: ServiceVariables): string {
  return `http://127.0.0.1:${environment['HTTP_PORT']}`;
}

async function onNewPorts(environment: ServiceVariables): Promise<ServiceVariables> {
  const names = ['GRPC_PORT', 'HEALTH_PORT', 'HTTP_PORT', 'CONTENT_PORT'].filter((name) => environment[name]);
  const ports = await Promise.all(names.map(async (name) => [name, String(await freePort())]));
  return { ...environment, ...Object.fromEntries(ports) };
}

/** `ACCESS_LINKS_ADDRESS` is that of `access-links`. */
function serviceOf(variable: string): string {
  return variable
    .replace(/_ADDRESS$/, '')
    .toLowerCase()
    .replaceAll('_', '-');
}
