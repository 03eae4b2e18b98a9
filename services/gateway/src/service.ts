import { randomUUID } from 'node:crypto';
import { createServer, type Server as HttpServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Definitions, definitions } from '@kr/contracts';
import { connectBus } from '@kr/event-bus';
import { type Drain, openDrain } from '@kr/http-drain';
import { openVocabularies } from '@kr/metadata';
import type { Handlers } from '@kr/rpc';
import { type RunningService, startService } from '@kr/service-host';
import { createLogger, type Logger, traceRequests } from '@kr/telemetry';
import { authenticate } from './caller.ts';
import { openClients } from './clients.ts';
import type { GatewayConfig, HttpLimits } from './config.ts';
import { openDatabase } from './database.ts';
import { openContentPlane } from './files/content-plane.ts';
import { xAccelRedirect } from './files/file-content.ts';
import { continueWhenWanted } from './http/body.ts';
import { clientAddressOf, trustedPeer } from './http/client-address.ts';
import { drainRequestBody } from './http/drain-request-body.ts';
import { crossOrigin } from './http/headers.ts';
import { countSlowReaders, observeRequests } from './http/observe-requests.ts';
import { baseUrlOf, useAbsoluteTarget } from './http/request-shape.ts';
import { waitForIndex } from './http/wait-for-index.ts';
import { executeOnce } from './idempotency/execute-once.ts';
import { deleteExpiredKeys, keyStore } from './idempotency/key-store.ts';
import { bodySeal } from './idempotency/sealed-body.ts';
import { administerUsers } from './identity/administer-users.ts';
import { findProviderUser } from './identity/find-provider-user.ts';
import { findTokenOwner } from './identity/find-token-owner.ts';
import { providerKeys } from './identity/provider-keys.ts';
import { resolveLink } from './identity/resolve-link.ts';
import { tokenStore } from './identity/token-store.ts';
import { userAdministrationStore } from './identity/user-administration-store.ts';
import { findUser, userStore } from './identity/user-store.ts';
import { concurrencyLimit, countRejected } from './overload/concurrency-limit.ts';
import { paceBodies } from './overload/pace-bodies.ts';
import { forwardPages } from './pages/forward-pages.ts';
import { type MalformedRequestsDeps, refuseMalformedRequests } from './pipeline/malformed-requests.ts';
import { pipeline } from './pipeline/pipeline.ts';
import { rateLimits } from './rate-limits/rate-limits.ts';
import { forgetByEvents, openResponseCache, type ResponseCache } from './response-cache/response-cache.ts';
import { routes } from './routes.ts';
import { SCHEMA } from './schema.ts';

/** Milliseconds of a stop's four seconds that remain for running requests. */
const DRAIN_MS = 3_000;

export interface GatewayService extends RunningService {
  httpPort: number;
}

interface Settings {
  logger: Logger;
  /** Milliseconds; never goes back. */
  elapsed: () => number;
  now: () => Date;
  /** Milliseconds between two authorisations of a running transfer. */
  recheckTransfersMs: number;
}

const RECHECK_TRANSFERS_MS = 30_000;

/** Starts the gateway; other services may start later. @throws when the database or a port is not available */
export async function startGatewayService(
  config: GatewayConfig,
  {
    logger = createLogger('gateway'),
    elapsed = () => performance.now(),
    now = () => new Date(),
    recheckTransfersMs = RECHECK_TRANSFERS_MS,
  }: Partial<Settings> = {},
): Promise<GatewayService> {
  const running = await startService({ name: 'gateway', config, schema: SCHEMA, logger }, () =>
    open(config, { logger, elapsed, now, recheckTransfersMs }),
  );
  return { ...running, httpPort: running.ports.http_port };
}

async function open(config: GatewayConfig, { logger, elapsed, now, recheckTransfersMs }: Settings) {
  const folder = openVocabularies(config.vocabularyDir, (error) =>
    logger.error({ err: error }, 'vocabulary file ignored'),
  );
  const database = openDatabase(config.databaseUrl);
  const users = userStore(database);
  const tokens = tokenStore(database);
  const keys = keyStore(database, bodySeal(config.sealingKey));
  const sweeping = deleteExpiredKeys(keys, logger);
  const clients = openClients(config);
  const contentPlane = openContentPlane(config.filesContentUrl, {
    idleMs: config.limits.filesIdleMs,
    recheckMs: recheckTransfersMs,
  });

  const cache = openResponseCache(elapsed);
  const following = followChanges(config, cache, logger);

  const shared = {
    cache,
    baseUrlOf: baseUrlOf({ ...config, webKey: config.web?.key }),
    logger,
    newId: randomUUID,
    rateLimits: rateLimits({
      config: config.rateLimit,
      clientAddressOf: clientAddressOf(config.trustedProxies, config.web?.key),
      elapsed,
      now,
    }),
    crossOrigin: crossOrigin(config.corsAllowedOrigins),
  };
  const oidc = config.oidc && {
    config: config.oidc,
    keys: providerKeys({ ...config.oidc, logger }),
  };
  const pages =
    config.web &&
    forwardPages({
      ...shared,
      webUrl: config.web.url,
      isTrusted: trustedPeer(config.trustedProxies, config.web.key),
    });
  const listener = pipeline({
    ...shared,
    pages: pages?.handler,
    limits: config.limits,
    bodyLimits: { maxBytes: config.limits.bodyMaxBytes, timeoutMs: config.limits.bodyTimeoutMs },
    waitForIndex: waitForIndex({ clients, longestMs: config.limits.waitForIndexMs, logger }),
    slowReading: {
      minBytesPerSecond: config.limits.minDownloadBytesPerSecond,
      onSlow: countSlowReaders(),
    },
    concurrency: concurrencyLimit({
      config: config.overload,
      bodyMaxBytes: config.limits.bodyMaxBytes,
      refused: countRejected(),
    }),
    paceBodies: paceBodies({
      elapsed,
      pause: (milliseconds, signal) => sleep(milliseconds, undefined, { signal }).catch(() => undefined),
    }),
    executeOnce: executeOnce({ keys, logger, newId: randomUUID }),
    vocabularies: folder.vocabularies,
    routes: routes({
      clients,
      contentPlane,
      fileAccess: cache.fileAccess,
      xAccel: xAccelRedirect(config),
      users,
      ownTokens: { tokens, limits: config.limits, now, newId: randomUUID },
      limits: config.limits,
    }),
    authenticate: authenticate({
      findTokenOwner: findTokenOwner(tokens, now, logger),
      findProviderUser: oidc && findProviderUser({ ...oidc, users, now }),
      resolveLink: resolveLink(clients),
    }),
  });
  const observed = observeRequests(traceRequests(listener));
  const { http, drain } = await listen(observed.listener, config, shared);
  const handlers: Handlers<Definitions['identity']> = {
    ...administerUsers({ users: userAdministrationStore(database), tokens, now, newId: randomUUID }),
    FindUser: findUser(users),
  };
  return {
    services: [{ definition: definitions.identity, handlers, callers: { operator: 'all' } }],
    database,
    background: [{ stop: () => drain(DRAIN_MS) }, observed, sweeping, folder, ...(oidc ? [oidc.keys] : [])],
    ports: { http_port: portOf(http) },
    close: async () => {
      await following.stop();
      clients.close();
      contentPlane.close();
      await pages?.close();
      await database.$disconnect();
    },
  } as const;
}

/** Without a bus what changed elsewhere is shown a second later. */
function followChanges(
  { natsUrl }: GatewayConfig,
  cache: ResponseCache,
  logger: Logger,
): { stop(): Promise<void> } {
  if (natsUrl === undefined) return { stop: async () => undefined };
  const bus = connectBus({ servers: natsUrl, name: 'gateway', logger });
  const listening = forgetByEvents(cache, bus, logger);
  return {
    stop: async () => {
      await listening.stop();
      await bus.close();
    },
  };
}

function listen(
  listener: RequestListener,
  { httpHost, httpPort, limits }: GatewayConfig,
  deps: Omit<MalformedRequestsDeps, 'limits'>,
): Promise<{ http: HttpServer; drain: Drain }> {
  const server = createServer(
    {
      maxHeaderSize: limits.headerMaxBytes,
      connectionsCheckingInterval: 5_000,
      // A header that must be unique is then an invalid value when repeated, instead of the first of two.
      joinDuplicateHeaders: true,
      // The application refuses it, with the headers of every answer.
      requireHostHeader: false,
    },
    (request, response) => {
      useAbsoluteTarget(request);
      listener(request, response);
    },
  );
  applyLimits(server, limits);
  continueWhenWanted(server);
  refuseMalformedRequests(server, { ...deps, limits });
  drainRequestBody(server, { overMs: limits.bodyTimeoutMs });
  const drain = openDrain(server);
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(httpPort, httpHost, () => resolve({ http: server, drain }));
  });
}

// The time of a body is each route's own matter: an upload may take hours as long as it moves.
function applyLimits(server: HttpServer, limits: HttpLimits): void {
  server.requestTimeout = 0;
  server.headersTimeout = limits.headersTimeoutMs;
  server.keepAliveTimeout = 65_000;
  server.maxRequestsPerSocket = 10_000;
  server.maxConnections = limits.maxConnections;
  server.maxHeadersCount = limits.headerMaxCount + 1;
  server.setTimeout(limits.idleTimeoutMs);
}

function portOf(server: HttpServer): number {
  return (server.address() as AddressInfo).port;
}
