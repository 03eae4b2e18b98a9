import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent } from 'undici';
import type { RunningAttack } from './attack.ts';

interface AttackRequest {
  path: string;
  method?: 'GET' | 'POST';
  token?: string;
  body?: string;
}

/** A client with a separate address: every address of 127.0.0.0/8 reaches this machine. */
export const addressOf = (round: number, client: number): string => `127.1.${round}.${client + 1}`;

/** Clients that repeat a request as soon as it is answered, or after a second if it is refused for its rate. */
export function repeatedly(
  baseUrl: string,
  clients: readonly (AttackRequest & { address: string })[],
): RunningAttack {
  const statuses: Record<number, number> = {};
  const stopping = new AbortController();
  const agents: Agent[] = [];
  const running = clients.map(async ({ address, path, method = 'GET', token, body }) => {
    const agent = new Agent({ connections: 1, connect: { localAddress: address } });
    agents.push(agent);
    const headers = {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    };
    while (!stopping.signal.aborted) {
      const answer = await agent
        .request({ origin: baseUrl, path, method, headers, body: body ?? null })
        .catch(() => undefined);
      await answer?.body.dump().catch(() => undefined);
      if (stopping.signal.aborted) return;
      const status = answer?.statusCode ?? 0;
      statuses[status] = (statuses[status] ?? 0) + 1;
      if (status === 429 || status === 0)
        await sleep(1_000, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  });
  return {
    statuses,
    stop: async () => {
      stopping.abort();
      await Promise.all(agents.map((agent) => agent.destroy()));
      await Promise.all(running);
    },
  };
}

const SLOW_BYTES_PER_SECOND = 1_024;

/** Downloads of one address that read so slowly that they hardly end; resolves when all have an answer. */
export async function slowDownloads(
  baseUrl: string,
  { address, path, count }: { address: string; path: string; count: number },
): Promise<RunningAttack> {
  const { hostname, port } = new URL(baseUrl);
  const statuses: Record<number, number> = {};
  const sockets: Socket[] = [];
  const answered = Array.from({ length: count }, async () => {
    const socket = connect({ host: hostname, port: Number(port), localAddress: address });
    sockets.push(socket);
    const status = await new Promise<number>((resolve) => {
      socket.once('error', () => resolve(0)).once('close', () => resolve(0));
      socket.once('readable', () => {
        const head = (socket.read(SLOW_BYTES_PER_SECOND) ?? socket.read()) as Buffer | null;
        resolve(Number(head?.toString('latin1').split(' ')[1] ?? 0));
      });
      socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}:${port}\r\n\r\n`);
    });
    statuses[status] = (statuses[status] ?? 0) + 1;
  });
  const reading = setInterval(() => {
    for (const socket of sockets) socket.read(SLOW_BYTES_PER_SECOND);
  }, 1_000);
  await Promise.all(answered);
  return {
    statuses,
    stop: async () => {
      clearInterval(reading);
      for (const socket of sockets) socket.destroy();
    },
  };
}
