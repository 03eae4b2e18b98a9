import { randomUUID } from 'node:crypto';
import { openClients } from './clients.ts';
import { readConfig } from './config.ts';
import { openDatabase } from './database.ts';
import { xAccelRedirect } from './files/file-content.ts';
import type { Route } from './http/route.ts';
import { tokenStore } from './identity/token-store.ts';
import { MINIMAL_ENVIRONMENT } from './minimal-environment-fixture.ts';
import { openResponseCache } from './response-cache/response-cache.ts';
import { routes } from './routes.ts';

/** The real routes, with clients that are never called. */
export function realRoutes(): readonly Route[] {
  const config = readConfig(MINIMAL_ENVIRONMENT);
  const clients = openClients(config);
  const all = routes({
    clients,
    contentClient: { request: () => Promise.reject(new Error('never called')), close: () => {} },
    fileAccess: openResponseCache(() => 0).fileAccess,
    xAccel: xAccelRedirect(config),
    users: { findUser: async () => undefined },
    ownTokens: {
      tokens: tokenStore(openDatabase(config.databaseUrl)),
      limits: config.limits,
      now: () => new Date(),
      newId: randomUUID,
    },
    limits: config.limits,
  });
  clients.close();
  return all;
}
