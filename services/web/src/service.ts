import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startHealth } from '@kr/health';
import { openDrain } from '@kr/http-drain';
import { type Logger, traceRequests } from '@kr/telemetry';
import { connectRepository } from './api/repository.ts';
import { buildApp } from './app.ts';
import type { WebConfig } from './config.ts';

/** Milliseconds of a stop's four seconds that remain for running requests. */
const DRAIN_MS = 3_000;

export interface WebService {
  httpPort: number;
  healthPort: number;
  /** Finishes running requests. May be called twice. */
  stop(): Promise<void>;
}

/** Starts the service; the gateway may start later. @throws when a port is unavailable */
export async function startWebService(config: WebConfig, logger: Logger): Promise<WebService> {
  const client = connectRepository(config.gatewayUrl, config.webKey);
  const app = buildApp({
    ...config,
    open: client.open,
    logger,
  });
  const server = createServer(traceRequests(app));
  server.keepAliveTimeout = 65_000;
  const drain = openDrain(server);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(config.httpPort, config.httpHost, resolve);
  });
  const health = await startHealth({
    host: config.httpHost,
    port: config.healthPort,
    checks: {},
    informationalChecks: { gateway: client.ping },
  });
  const httpPort = (server.address() as AddressInfo).port;
  logger.info({ http_port: httpPort, health_port: health.port }, 'ready');
  let stopping: Promise<void> | undefined;
  return {
    httpPort,
    healthPort: health.port,
    stop() {
      stopping ??= Promise.all([drain(DRAIN_MS), health.stop()]).then(() => client.close());
      return stopping;
    },
  };
}
