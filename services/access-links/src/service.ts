import { randomBytes, randomUUID } from 'node:crypto';
import { verifyTicket } from '@kr/caller';
import { definitions } from '@kr/contracts';
import { connectBus, startRelay } from '@kr/event-bus';
import { startHealth } from '@kr/health';
import { type Callers, type Handlers, serve } from '@kr/rpc';
import { migrate } from '@kr/schema-migration';
import { createLogger, type Logger } from '@kr/telemetry';
import type { AccessLinksConfig } from './config.ts';
import type { AccessLinksContext } from './context.ts';
import { changeLink, revokeLink } from './links/change-link.ts';
import { createLink } from './links/create-link.ts';
import { listLinks, listParentLinks, readLink, readLinkTrail } from './links/list-links.ts';
import { SCHEMA } from './schema.ts';
import { openDatabase } from './store/prisma.ts';
import { createTokenMint } from './tokens/link-token.ts';
import { resolveTokens } from './tokens/resolve-tokens.ts';

export interface AccessLinksService {
  grpcPort: number;
  healthPort: number;
  /** Lets running calls and the events at hand finish. May be called twice. */
  stop(): Promise<void>;
}

export interface Overrides {
  now?: () => Date;
  logger?: Logger;
}

const CALLERS: Callers<typeof definitions.accessLinks> = {
  gateway: [
    'CreateLink',
    'ListLinks',
    'ReadLink',
    'ChangeLink',
    'RevokeLink',
    'ReadLinkTrail',
    'ResolveTokens',
  ],
  records: ['ListParentLinks'],
  packages: ['ListParentLinks'],
};

/** RPC name → the file that answers it. */
function rpcs(context: AccessLinksContext): Handlers<typeof definitions.accessLinks> {
  return {
    CreateLink: createLink(context),
    ListLinks: listLinks(context),
    ListParentLinks: listParentLinks(context),
    ReadLink: readLink(context),
    ChangeLink: changeLink(context),
    RevokeLink: revokeLink(context),
    ReadLinkTrail: readLinkTrail(context),
    ResolveTokens: resolveTokens(context),
  };
}

/** Starts the service; the bus may connect later. @throws when the database or a port is unavailable */
export async function startAccessLinksService(
  config: AccessLinksConfig,
  { now = () => new Date(), logger = createLogger('access-links') }: Overrides = {},
): Promise<AccessLinksService> {
  const { databaseUrl, ticketKey } = config;
  await migrate({ databaseUrl, sets: SCHEMA, logger });

  const database = openDatabase(databaseUrl);
  const bus = connectBus({ servers: config.natsUrl, name: 'access-links', logger });
  const relay = startRelay({ databaseUrl, natsConnection: bus, source: 'access-links', logger });
  const context: AccessLinksContext = {
    database,
    mint: createTokenMint(config.linkTokenKey, config.previousLinkTokenKeys),
    maxLinksPerEntity: config.maxLinksPerEntity,
    openTicket: (ticket, action = 'manage_links') =>
      verifyTicket(ticket, { audience: 'access-links', key: ticketKey, action, now }),
    nudgeRelay: relay.nudge,
    now,
    newId: randomUUID,
    newNonce: () => randomBytes(16).toString('hex'),
  };
  const server = await serve({
    services: [{ definition: definitions.accessLinks, handlers: rpcs(context), callers: CALLERS }],
    host: config.grpcHost,
    port: config.grpcPort,
    audience: 'access-links',
    callerKeys: config.callerKeys,
    logger,
  });
  const health = await startHealth({
    host: config.grpcHost,
    port: config.healthPort,
    checks: { database: async () => void (await database.$queryRaw`select 1`) },
    observed: { bus: bus.check },
  });
  logger.info({ grpc_port: server.port, health_port: health.port }, 'ready');

  const close = async () => {
    await server.stop();
    await relay.stop();
    await Promise.all([bus.close(), database.$disconnect(), health.stop()]);
  };
  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= close();
    return stopping;
  };
  return { grpcPort: server.port, healthPort: health.port, stop };
}
