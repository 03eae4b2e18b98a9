import { accessLinkRoutes } from './access-links/access-links.ts';
import { auditLogRoutes } from './audit-log/read-audit-log.ts';
import type { Clients } from './clients.ts';
import type { GatewayConfig } from './config.ts';
import { draftRoutes } from './drafts/drafts.ts';
import type { FilesDeps } from './files/authorise-files.ts';
import type { ContentClient } from './files/content-client.ts';
import { contentRoutes, type XAccelRedirect } from './files/file-content.ts';
import { fileRoutes } from './files/file-entries.ts';
import { uploadRoutes } from './files/resumable-upload.ts';
import type { Operation, Route } from './http/route.ts';
import { type TokensDeps, tokenRoutes } from './identity/own-tokens.ts';
import type { UserStore } from './identity/user-store.ts';
import { userRoutes } from './identity/who-am-i.ts';
import { COLLECTION, KINDS, type Kind } from './kind.ts';
import { managePublishedRoutes } from './published/manage-published.ts';
import { packageRequestRoutes } from './published/package-requests.ts';
import { readPublishedRoutes } from './published/read-published.ts';
import { contextRoutes } from './resources/context-resources.ts';
import { resourceRoutes } from './resources/resource-lists.ts';
import { kindSearchRoutes, searchRoutes } from './search/search.ts';
import { suggestRoutes } from './search/suggest.ts';
import { siteRoutes } from './site/welcome.ts';
import { vocabularyRoutes } from './vocabularies/vocabularies.ts';

export interface RoutesDeps {
  clients: Clients;
  contentClient: ContentClient;
  fileAccess: FilesDeps['fileAccess'];
  xAccel: XAccelRedirect;
  users: Pick<UserStore, 'findUser'>;
  ownTokens: TokensDeps;
  limits: GatewayConfig['limits'];
}

/** Every route of the public interface; the first that matches answers. */
export function routes(deps: RoutesDeps): readonly Route[] {
  const { clients, users, ownTokens, limits } = deps;
  const all: readonly Route[] = [
    ...tagged('site', [...siteRoutes(() => all), ...userRoutes(users), ...tokenRoutes(ownTokens)]),
    ...tagged('search', [...searchRoutes(clients, limits), ...suggestRoutes(clients, limits)]),
    ...tagged('vocabularies', vocabularyRoutes(limits)),
    ...tagged('packages', [
      ...contextRoutes(clients, limits),
      ...resourceRoutes(clients, limits),
      ...packageRequestRoutes({ kind: 'package', clients }, limits),
    ]),
    ...KINDS.flatMap((kind) => tagged(COLLECTION[kind], entityRoutes(kind, deps))),
  ];
  return all;
}

function tagged(tag: Route['tag'], operations: readonly Operation[]): Route[] {
  return operations.map((operation) => ({ ...operation, tag }));
}

/** Routes of resources and packages. */
function entityRoutes(
  kind: Kind,
  { clients, contentClient, fileAccess, xAccel, limits }: RoutesDeps,
): readonly Operation[] {
  const deps = { kind, clients };
  const ofDraft: FilesDeps = { ...deps, fileAccess, form: 'draft' };
  const ofPublished: FilesDeps = { ...ofDraft, form: 'published' };
  return [
    ...kindSearchRoutes(deps, limits),
    ...managePublishedRoutes(deps, limits),
    ...readPublishedRoutes(ofPublished),
    ...draftRoutes(deps),
    ...fileRoutes(ofDraft, ofPublished),
    ...contentRoutes(ofDraft, ofPublished, contentClient, xAccel),
    ...uploadRoutes(ofDraft, contentClient),
    ...auditLogRoutes(deps, limits),
    ...accessLinkRoutes(deps),
  ];
}
