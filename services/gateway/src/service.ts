import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Definitions, definitions } from '@kr/contracts';
import { connectBus } from '@kr/event-bus';
import { openVocabularies } from '@kr/metadata';
import type { Handlers } from '@kr/rpc';
import { type RunningService, startService } from '@kr/service-host';
import type { Logger } from '@kr/telemetry';
import { authenticate } from './caller.ts';
import { openClients } from './clients.ts';
import type { GatewayConfig } from './config.ts';
import { openDatabase } from './database.ts';
import { openContentClient } from './files/content-client.ts';
import { xAccelRedirect } from './files/file-content.ts';
import { clientAddressOf, trustedPeer } from './http/client-address.ts';
import { crossOrigin } from './http/headers.ts';
import { countSlowReaders } from './http/observe-requests.ts';
import { baseUrlOf } from './http/request-shape.ts';
import { waitForIndex } from './http/wait-for-index.ts';
import { bodyCipher } from './idempotency/body-cipher.ts';
import { executeOnce } from './idempotency/execute-once.ts';
import { deleteExpiredKeys, keyStore } from './idempotency/key-store.ts';
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
import { listen } from './pipeline/listen.ts';
import { pipeline } from './pipeline/pipeline.ts';
import { rateLimits } from './rate-limits/rate-limits.ts';
import { forgetByEvents, openResponseCache, type ResponseCache } from './response-cache/response-cache.ts';
import { routes } from './routes.ts';
import { SCHEMA } from './schema.ts';

interface Clocks {
  /** Milliseconds; never goes back. */
  elapsed: () => number;
  now: () => Date;
}

/** Starts the gateway; other services may start later. @throws Error: the database or a port is not available */
export async function startGatewayService(
  config: GatewayConfig,
  logger: Logger,
  { elapsed = () => performance.now(), now = () => new Date() }: Partial<Clocks> = {},
): Promise<RunningService & { httpPort: number }> {
  const running = await startService({ name: 'gateway', config, schema: SCHEMA, logger }, () =>
    open(config, logger, { elapsed, now }),
  );
  return { ...running, httpPort: running.ports.http_port };
}

async function open(config: GatewayConfig, logger: Logger, { elapsed, now }: Clocks) {
  const folder = openVocabularies(config.vocabularyDir, (error) =>
    logger.error({ err: error }, 'vocabulary file ignored'),
  );
  const database = openDatabase(config.databaseUrl);
  const users = userStore(database);
  const tokens = tokenStore(database);
  const keys = keyStore(database, bodyCipher(config.sealingKey));
  const keyExpiry = deleteExpiredKeys(keys, logger);
  const clients = openClients(config);
  const contentClient = openContentClient(config.filesContentUrl, {
    idleMs: config.limits.filesIdleMs,
    recheckMs: config.limits.recheckTransfersMs,
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
      webKey: config.web.key,
      isTrusted: trustedPeer(config.trustedProxies, config.web.key),
    });
  const listener = pipeline({
    ...shared,
    pages: pages?.handler,
    limits: config.limits,
    waitForIndex: waitForIndex({ clients, maxWaitMs: config.limits.waitForIndexMs, logger }),
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
      contentClient,
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
  const http = await listen(listener, config, shared);
  const handlers: Handlers<Definitions['identity']> = {
    ...administerUsers({ users: userAdministrationStore(database), tokens, now, newId: randomUUID }),
    FindUser: findUser(users),
  };
  return {
    services: [{ definition: definitions.identity, handlers, callers: { operator: 'all' } }],
    database,
    background: [http, keyExpiry, folder, ...(oidc ? [oidc.keys] : [])],
    ports: { http_port: http.port },
    close: async () => {
      await following.stop();
      clients.close();
      contentClient.close();
      await pages?.close();
      await database.$disconnect();
    },
  } as const;
}

/** Without a bus, changes by other gateways become visible after a second. */
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
