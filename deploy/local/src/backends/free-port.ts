import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { claimPort } from './claimed-port.ts';

/** Below the range from which systems take the ports of outgoing connections, so that a restart finds its port free. */
const MIN_PORT = 20_000;
const MAX_PORT = 32_000;

/** An unused TCP port of the loopback interface, claimed for this process. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const port = randomInt(MIN_PORT, MAX_PORT);
    if (claimPort(port) && (await portProblem(port)) === undefined) return port;
  }
  throw new Error(`No free port between ${MIN_PORT} and ${MAX_PORT}.`);
}

/** Several free ports, all different. */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) ports.add(await freePort());
  return [...ports];
}

/** Why nothing can listen on a port of the loopback interface: the system's error code; undefined when it can. */
export function portProblem(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', (thrown: NodeJS.ErrnoException) => resolve(thrown.code ?? thrown.message));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(undefined)));
  });
}
