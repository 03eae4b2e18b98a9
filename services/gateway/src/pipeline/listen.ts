import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openDrain } from '@kr/http-drain';
import { traceRequests } from '@kr/telemetry';
import type { GatewayConfig, HttpLimits } from '../config.ts';
import { continueWhenWanted } from '../http/body.ts';
import { drainRequestBody } from '../http/drain-request-body.ts';
import { observeRequests } from '../http/observe-requests.ts';
import { type MalformedRequestsDeps, refuseMalformedRequests } from './malformed-requests.ts';

/** Milliseconds of a stop's four seconds that remain for running requests. */
const DRAIN_MS = 3_000;

export interface PublicServer {
  port: number;
  /** Refuses new requests and finishes running ones. */
  stop(): Promise<void>;
}

/** Opens the public port. @throws Error: the port is not available */
export function listen(
  listener: RequestListener,
  { httpHost, httpPort, limits }: GatewayConfig,
  deps: Omit<MalformedRequestsDeps, 'limits'>,
): Promise<PublicServer> {
  const observed = observeRequests(traceRequests(listener));
  const server = createServer(
    {
      maxHeaderSize: limits.headerMaxBytes,
      connectionsCheckingInterval: 5_000,
      // A header that must be unique is then an invalid value when repeated, instead of the first of two.
      joinDuplicateHeaders: true,
      // The pipeline refuses it, with the headers of every answer.
      requireHostHeader: false,
    },
    observed.listener,
  );
  applyLimits(server, limits);
  continueWhenWanted(server);
  refuseMalformedRequests(server, { ...deps, limits });
  drainRequestBody(server, { overMs: limits.bodyTimeoutMs });
  const drain = openDrain(server);
  const stop = async () => {
    await drain(DRAIN_MS);
    observed.stop();
  };
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(httpPort, httpHost, () => resolve({ port: (server.address() as AddressInfo).port, stop }));
  });
}

// Routes limit the time of a body: an upload may take hours as long as it progresses.
function applyLimits(server: Server, limits: HttpLimits): void {
  server.requestTimeout = 0;
  server.headersTimeout = limits.headersTimeoutMs;
  server.keepAliveTimeout = 65_000;
  server.maxRequestsPerSocket = 10_000;
  server.maxConnections = limits.maxConnections;
  server.maxHeadersCount = limits.headerMaxCount + 1;
  server.setTimeout(limits.idleTimeoutMs);
}
