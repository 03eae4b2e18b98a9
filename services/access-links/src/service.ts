import { randomBytes, randomUUID } from 'node:crypto';
import { verifyTicket } from '@kr/caller';
import { definitions } from '@kr/contracts';
import { connectBus, startRelay } from '@kr/event-bus';
import type { Callers, Handlers } from '@kr/rpc';
import { type RunningService, startService } from '@kr/service-host';
import type { Logger } from '@kr/telemetry';
import type { AccessLinksConfig } from './config.ts';
import type { AccessLinksContext } from './context.ts';
import { changeLink, revokeLink } from './links/change-link.ts';
import { createLink } from './links/create-link.ts';
import { listLinks, listParentLinks, readLink, readLinkTrail } from './links/list-links.ts';
import { SCHEMA } from './schema.ts';
import { openDatabase } from './store/prisma.ts';
import { createTokenMint } from './tokens/link-token.ts';
import { resolveTokens } from './tokens/resolve-tokens.ts';

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
  logger: Logger,
  now: () => Date = () => new Date(),
): Promise<RunningService> {
  const { databaseUrl, ticketKey } = config;
  return startService({ name: 'access-links', config, schema: SCHEMA, logger }, async () => {
    const database = openDatabase(databaseUrl);
    const bus = connectBus({ servers: config.natsUrl, name: 'access-links', logger });
    const relay = startRelay({ databaseUrl, natsConnection: bus, source: 'access-links', logger });
    const context: AccessLinksContext = {
      database,
      mint: createTokenMint(config.linkTokenKey, config.previousLinkTokenKeys),
      maxLinksPerEntity: config.maxLinksPerEntity,
      openTicket: (ticket, action = 'manage_links') =>
        verifyTicket(ticket, { audience: 'access-links', key: ticketKey, actions: [action], now }),
      wakeRelay: relay.nudge,
      now,
      newId: randomUUID,
      newNonce: () => randomBytes(16).toString('hex'),
    };
    return {
      services: [{ definition: definitions.accessLinks, handlers: rpcs(context), callers: CALLERS }],
      database,
      informationalChecks: { bus: bus.check },
      close: async () => {
        await relay.stop();
        await Promise.all([bus.close(), database.$disconnect()]);
      },
    };
  });
}
