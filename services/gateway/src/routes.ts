import { changeLink, createLink, listLinks, readLink, revokeLink } from './access-links/access-links.ts';
import { readAuditLog } from './audit-log/read-audit-log.ts';
import type { Clients } from './clients.ts';
import type { GatewayConfig } from './config.ts';
import {
  createDraft,
  deleteDraft,
  discardPid,
  editPublished,
  publishDraft,
  readDraft,
  readReview,
  reservePid,
  updateDraft,
  validateDraft,
} from './drafts/drafts.ts';
import type { FilesDeps } from './files/authorise-files.ts';
import type { ContentPlane } from './files/content-plane.ts';
import type { XAccelRedirect } from './files/file-content.ts';
import { putContent, readArchive, readContent } from './files/file-content.ts';
import {
  commitUpload,
  deleteFile,
  deleteFiles,
  importFiles,
  listFiles,
  readFile,
  startUploads,
  updateFileMetadata,
} from './files/file-entries.ts';
import { continueUpload, createUpload, readUpload, uploadCapabilities } from './files/resumable-upload.ts';
import type { Endpoint, Method, Route } from './http/endpoint.ts';
import { createToken, listTokens, revokeToken, type TokensDeps } from './identity/own-tokens.ts';
import type { UserStore } from './identity/user-store.ts';
import { whoAmI } from './identity/who-am-i.ts';
import { COLLECTION, KINDS, type Kind } from './kind.ts';
import { exportPublished, readPublished } from './published/export-published.ts';
import {
  createVersion,
  deletePublished,
  listRemovals,
  listRequests,
  listVersions,
  readLatest,
  restorePublished,
} from './published/published.ts';
import { associate, dissociate, listContextResources, updateContext } from './resources/context-resources.ts';
import {
  addResources,
  importResources,
  listDraftResources,
  listPackageResources,
  removeResources,
} from './resources/resource-lists.ts';
import { searchOwn, searchPublished } from './search/search.ts';
import { suggest } from './search/suggest.ts';
import { openapiJson, openapiYaml } from './site/openapi.ts';
import { ping, welcome } from './site/welcome.ts';
import { listTerms, listVocabularies, readTerm } from './vocabularies/vocabularies.ts';

export interface RoutesDeps {
  clients: Clients;
  contentPlane: ContentPlane;
  fileAccess: FilesDeps['fileAccess'];
  xAccel: XAccelRedirect;
  users: Pick<UserStore, 'findUser'>;
  ownTokens: TokensDeps;
  limits: GatewayConfig['limits'];
}

/**
 * Every route of the public interface: method, path, whether it is open or always needs a token, the body it takes,
 * what it gives, the file that answers it, and what it weighs if not as much as any. Earlier rows win.
 */
export function routes(deps: RoutesDeps): readonly Route[] {
  const { clients, users, ownTokens, limits } = deps;
  const both = [...KINDS];
  return [
    row('GET', '/', 'open', '-', 'any', welcome()),
    row('GET', '/api/ping', 'open', '-', 'any', ping()),
    row('GET', '/api/openapi.json', 'open', '-', 'any', openapiJson()),
    row('GET', '/api/openapi.yaml', 'open', '-', 'any', openapiYaml()),

    row('GET', '/api/user', 'token', '-', 'json', whoAmI(users)),
    row('GET', '/api/user/tokens', 'token', '-', 'json', listTokens(ownTokens)),
    row('POST', '/api/user/tokens', 'token', 'json', 'json', createToken(ownTokens)),
    row('DELETE', '/api/user/tokens/:tokenId', 'token', '-', 'json', revokeToken(ownTokens)),
    row('GET', '/api/user/records', 'token', '-', 'entity', searchOwn(clients, ['record'], limits), 'search'),
    row(
      'GET',
      '/api/user/packages',
      'token',
      '-',
      'entity',
      searchOwn(clients, ['package'], limits),
      'search',
    ),
    row('GET', '/api/user/search', 'token', '-', 'entity', searchOwn(clients, both, limits), 'search'),
    row('GET', '/api/search', 'open', '-', 'hits', searchPublished(clients, both, limits), 'search'),
    row('GET', '/api/search/suggest', 'open', '-', 'json', suggest(clients, limits), 'search'),

    row('GET', '/api/vocabularies', 'open', '-', 'json', listVocabularies()),
    row('GET', '/api/vocabularies/:type', 'open', '-', 'json', listTerms(limits)),
    row('GET', '/api/vocabularies/:type/:id', 'open', '-', 'json', readTerm()),

    ...packageRoutes(deps),
    ...KINDS.flatMap((kind) => entityRoutes(kind, deps)),
  ];
}

/** Routes of resources and packages. */
function entityRoutes(
  kind: Kind,
  { clients, contentPlane, fileAccess, xAccel, limits }: RoutesDeps,
): Route[] {
  const all = `/api/${COLLECTION[kind]}`;
  const one = `${all}/:id`;
  const draft = `${one}/draft`;
  const links = `${one}/access/links`;
  const deps = { kind, clients };
  const ofDraft: FilesDeps = { ...deps, fileAccess, face: 'draft' };
  const ofPublished: FilesDeps = { ...ofDraft, face: 'published' };
  return [
    row('GET', all, 'open', '-', 'hits', searchPublished(clients, [kind], limits), 'search'),
    row('POST', all, 'token', 'json', 'entity', createDraft(deps)),

    row('GET', `${all}/removed`, 'open', '-', 'json', listRemovals(deps, limits)),
    row('GET', one, 'open', '-', 'published', readPublished(ofPublished)),
    row('GET', `${one}/export/:format`, 'open', '-', 'any', exportPublished(ofPublished)),
    row('DELETE', one, 'token', 'json', 'entity', deletePublished(deps)),
    row('POST', `${one}/restore`, 'token', '-', 'entity', restorePublished(deps)),
    row('GET', `${one}/versions`, 'open', '-', 'entity', listVersions(deps, limits)),
    row('POST', `${one}/versions`, 'token', '-', 'entity', createVersion(deps)),
    row('GET', `${one}/versions/latest`, 'open', '-', 'entity', readLatest(deps)),

    row('GET', draft, 'token', '-', 'entity', readDraft(deps)),
    row('PUT', draft, 'token', 'json', 'entity', updateDraft(deps)),
    row('POST', draft, 'token', '-', 'entity', editPublished(deps)),
    row('DELETE', draft, 'token', '-', 'entity', deleteDraft(deps)),
    row('POST', `${draft}/actions/publish`, 'token', '-', 'entity', publishDraft(deps), 'publish'),
    row('GET', `${draft}/review`, 'token', '-', 'json', readReview(deps)),
    row('POST', `${draft}/actions/validate`, 'token', '-', 'json', validateDraft(deps)),
    row('POST', `${draft}/actions/files-import`, 'token', '-', 'json', importFiles(ofDraft)),
    row('POST', `${draft}/pids/:scheme`, 'token', '-', 'entity', reservePid(deps)),
    row('DELETE', `${draft}/pids/:scheme`, 'token', '-', 'entity', discardPid(deps)),

    row('GET', `${draft}/files`, 'token', '-', 'json', listFiles(ofDraft)),
    row('POST', `${draft}/files`, 'token', 'json', 'json', startUploads(ofDraft)),
    row('DELETE', `${draft}/files`, 'token', '-', 'json', deleteFiles(ofDraft)),
    row('GET', `${draft}/files-archive`, 'token', '-', 'any', readArchive(ofDraft, contentPlane)),
    row('GET', `${draft}/files/:key`, 'token', '-', 'json', readFile(ofDraft)),
    row('PUT', `${draft}/files/:key`, 'token', 'json', 'json', updateFileMetadata(ofDraft)),
    row('DELETE', `${draft}/files/:key`, 'token', '-', 'json', deleteFile(ofDraft)),
    row(
      'GET',
      `${draft}/files/:key/content`,
      'token',
      '-',
      'any',
      readContent(ofDraft, contentPlane, xAccel),
    ),
    row('PUT', `${draft}/files/:key/content`, 'token', 'bytes', 'json', putContent(ofDraft, contentPlane)),
    row('POST', `${draft}/files/:key/commit`, 'token', '-', 'json', commitUpload(ofDraft)),
    ...uploadRoutes(ofDraft, contentPlane, `${draft}/files/:key/tus`),

    row('GET', `${one}/files`, 'open', '-', 'json', listFiles(ofPublished)),
    row('GET', `${one}/files-archive`, 'open', '-', 'any', readArchive(ofPublished, contentPlane)),
    row('GET', `${one}/files/:key`, 'open', '-', 'json', readFile(ofPublished)),
    row(
      'GET',
      `${one}/files/:key/content`,
      'open',
      '-',
      'any',
      readContent(ofPublished, contentPlane, xAccel),
    ),

    row('GET', `${one}/audit-log`, 'token', '-', 'json', readAuditLog(deps, limits), 'auditLog'),
    row('GET', links, 'token', '-', 'json', listLinks(deps)),
    row('POST', links, 'token', 'json', 'json', createLink(deps)),
    row('GET', `${links}/:linkId`, 'token', '-', 'json', readLink(deps)),
    row('PATCH', `${links}/:linkId`, 'token', 'json', 'json', changeLink(deps)),
    row('DELETE', `${links}/:linkId`, 'token', '-', 'json', revokeLink(deps)),
  ];
}

/** Resumable uploads of one file, by tus 1.0. */
function uploadRoutes(ofDraft: FilesDeps, plane: ContentPlane, all: string): Route[] {
  const one = `${all}/:uploadId`;
  return [
    row('OPTIONS', all, 'open', '-', 'any', uploadCapabilities(plane)),
    row('POST', all, 'token', 'chunk', 'any', createUpload(ofDraft, plane)),
    row('OPTIONS', one, 'open', '-', 'any', uploadCapabilities(plane)),
    row('HEAD', one, 'token', '-', 'any', readUpload(ofDraft, plane)),
    row('PATCH', one, 'token', 'chunk', 'any', continueUpload('PATCH', ofDraft, plane), 'nothing'),
    row('DELETE', one, 'token', '-', 'any', continueUpload('DELETE', ofDraft, plane)),
  ];
}

/** Routes of packages only. */
function packageRoutes({ clients, limits }: RoutesDeps): Route[] {
  const one = '/api/packages/:id';
  const inContext = '/api/packages/context/:parentId/resources';
  return [
    row('GET', inContext, 'token', '-', 'entity', listContextResources(clients, limits), 'search'),
    row('PUT', `${one}/context`, 'token', 'json', 'json', updateContext(clients)),
    row('POST', `${one}/context/actions/associate`, 'token', 'json', 'json', associate(clients)),
    row('POST', `${one}/context/actions/dissociate`, 'token', 'json', 'json', dissociate(clients)),

    row('GET', `${one}/requests`, 'open', '-', 'json', listRequests({ kind: 'package', clients }, limits)),
    row('GET', `${one}/resources`, 'open', '-', 'entity', listPackageResources(clients, limits), 'search'),
    row(
      'GET',
      `${one}/draft/resources`,
      'token',
      '-',
      'entity',
      listDraftResources(clients, limits),
      'search',
    ),
    row('POST', `${one}/draft/resources`, 'token', 'json', 'json', addResources(clients)),
    row('DELETE', `${one}/draft/resources`, 'token', 'json', 'json', removeResources(clients)),
    row('POST', `${one}/draft/actions/resources-import`, 'token', '-', 'json', importResources(clients)),
  ];
}

function row(
  method: Method,
  path: string,
  auth: Route['auth'],
  takes: Route['takes'],
  gives: Route['gives'],
  endpoint: Endpoint,
  weight?: Route['weight'],
): Route {
  return { method, path, auth, takes, gives, endpoint, weight };
}
