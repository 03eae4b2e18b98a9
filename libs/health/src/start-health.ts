import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface HealthOptions {
  host: string;
  /** 0 takes a free port. */
  port: number;
  /** One check per required dependency; a check that rejects, or takes longer than `checkTimeoutMs`, has failed. */
  checks: Readonly<Record<string, () => Promise<void>>>;
  /** Checks that are shown and not required: dependencies whose outage the process tolerates for a while. */
  informationalChecks?: Readonly<Record<string, () => Promise<void>>>;
  /** Timeout of a check in milliseconds (default 2000). */
  checkTimeoutMs?: number;
}

export interface Health {
  /** The bound port. */
  port: number;
  /** May be called twice. */
  stop(): Promise<void>;
}

type Verdict = 'ok' | 'failed' | 'timed out';

/**
 * Serves `GET /livez` (200 while the process runs) and `GET /readyz` (200 when every one of `checks` passes,
 * else 503), both with a JSON body: `{"status": "ok", "checks": {"database": "ok"}}`. Errors of checks are
 * never shown.
 *
 * @throws when the port cannot be bound
 */
export async function startHealth(options: HealthOptions): Promise<Health> {
  const { host, port, checks, informationalChecks: observed = {}, checkTimeoutMs = 2_000 } = options;
  const server = createServer((request, response) => {
    const path = request.url?.split('?')[0];
    if (path === '/livez') return reply(response, 200, { status: 'ok' });
    if (path !== '/readyz') return reply(response, 404, { status: 'unknown' });
    void runAll({ ...checks, ...observed }, checkTimeoutMs).then((verdicts) => {
      const isReady = Object.keys(checks).every((name) => verdicts[name] === 'ok');
      reply(response, isReady ? 200 : 503, { status: isReady ? 'ok' : 'unavailable', checks: verdicts });
    });
  });

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function runAll(checks: HealthOptions['checks'], timeoutMs: number): Promise<Record<string, Verdict>> {
  const verdicts = Object.entries(checks).map(
    async ([name, check]) => [name, await run(check, timeoutMs)] as const,
  );
  return Object.fromEntries(await Promise.all(verdicts));
}

function run(check: () => Promise<void>, timeoutMs: number): Promise<Verdict> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve('timed out'), timeoutMs);
    const finish = (verdict: Verdict) => {
      clearTimeout(timer);
      resolve(verdict);
    };
    // `then` first: a check that throws before its first await counts as failed too.
    Promise.resolve()
      .then(check)
      .then(
        () => finish('ok'),
        () => finish('failed'),
      );
  });
}

function reply(response: ServerResponse, status: number, body: object): void {
  const bytes = JSON.stringify(body);
  response
    .writeHead(status, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(bytes),
      'cache-control': 'no-store',
    })
    .end(bytes);
}
