import { changeLink } from './access-links/change-link.ts';
import { createLink } from './access-links/create-link.ts';
import { listLinks } from './access-links/list-links.ts';
import { readLink } from './access-links/read-link.ts';
import { revokeLink } from './access-links/revoke-link.ts';
import { readAuditLog } from './audit-log/read-audit-log.ts';
import type { Clients } from './clients.ts';
import type { GatewayConfig } from './config.ts';
import { createDraft } from './drafts/create-draft.ts';
import { deleteDraft } from './drafts/delete-draft.ts';
import { discardPid } from './drafts/discard-pid.ts';
import { editPublished } from './drafts/edit-published.ts';
import { publishDraft } from './drafts/publish-draft.ts';
import { readDraft } from './drafts/read-draft.ts';
import { readReview } from './drafts/read-review.ts';
import { reservePid } from './drafts/reserve-pid.ts';
import { updateDraft } from './drafts/update-draft.ts';
import { validateDraft } from './drafts/validate-draft.ts';
import type { FilesDeps } from './files/authorise-files.ts';
import { commitUpload } from './files/commit-upload.ts';
import type { ContentPlane } from './files/content-plane.ts';
import { deleteFile } from './files/delete-file.ts';
import { deleteFiles } from './files/delete-files.ts';
import type { HandOver } from './files/hand-over.ts';
import { importFiles } from './files/import-files.ts';
import { listFiles } from './files/list-files.ts';
import { putContent } from './files/put-content.ts';
import { readArchive } from './files/read-archive.ts';
import { readContent } from './files/read-content.ts';
import { readFile } from './files/read-file.ts';
import { continueUpload, createUpload, readUpload, uploadCapabilities } from './files/resumable-upload.ts';
import { startUploads } from './files/start-uploads.ts';
import { updateFileMetadata } from './files/update-file-metadata.ts';
import type { Endpoint, Method, Route } from './http/endpoint.ts';
import { createToken, listTokens, revokeToken, type TokensDeps } from './identity/own-tokens.ts';
import type { UserStore } from './identity/user-store.ts';
import { whoAmI } from './identity/who-am-i.ts';
import { COLLECTION, KINDS, type Kind } from './kind.ts';
import { associate } from './package-context/associate.ts';
import { dissociate } from './package-context/dissociate.ts';
import { listContextResources } from './package-context/list-context-resources.ts';
import { updateContext } from './package-context/update-context.ts';
import { createVersion } from './published/create-version.ts';
import { deletePublished } from './published/delete-published.ts';
import { listRemovals } from './published/list-removals.ts';
import { listVersions } from './published/list-versions.ts';
import { readLatest } from './published/read-latest.ts';
import { readPublished } from './published/read-published.ts';
import { restorePublished } from './published/restore-published.ts';
import { addResources } from './resources/add-resources.ts';
import { importResources } from './resources/import-resources.ts';
import { listDraftResources } from './resources/list-draft-resources.ts';
import { listPackageResources } from './resources/list-package-resources.ts';
import { removeResources } from './resources/remove-resources.ts';
import { searchOwn } from './search/search-own.ts';
import { searchPublished } from './search/search-published.ts';
import { suggest } from './search/suggest.ts';
import { openapiJson, openapiYaml } from './site/openapi.ts';
import { ping } from './site/ping.ts';
import { welcome } from './site/welcome.ts';
import { listTerms } from './vocabularies/list-terms.ts';
import { listVocabularies } from './vocabularies/list-vocabularies.ts';
import { readTerm } from './vocabularies/read-term.ts';

export interface RoutesDeps {
  clients: Clients;
  contentPlane: ContentPlane;
  handOver: HandOver;
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

/** What resources and packages have in common. */
function entityRoutes(kind: Kind, { clients, contentPlane, handOver, limits }: RoutesDeps): Route[] {
  const all = `/api/${COLLECTION[kind]}`;
  const one = `${all}/:id`;
  const draft = `${one}/draft`;
  const links = `${one}/access/links`;
  const deps = { kind, clients };
  const ofDraft: FilesDeps = { ...deps, face: 'draft' };
  const ofPublished: FilesDeps = { ...deps, face: 'published' };
  return [
    row('GET', all, 'open', '-', 'hits', searchPublished(clients, [kind], limits), 'search'),
    row('POST', all, 'token', 'json', 'entity', createDraft(deps)),

    row('GET', `${all}/removed`, 'token', '-', 'json', listRemovals(deps, limits)),
    row('GET', one, 'open', '-', 'entity', readPublished(deps)),
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
      readContent(ofDraft, contentPlane, handOver),
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
      readContent(ofPublished, contentPlane, handOver),
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

/** What only packages have. */
function packageRoutes({ clients, limits }: RoutesDeps): Route[] {
  const one = '/api/packages/:id';
  const inContext = '/api/packages/context/:parentId/resources';
  return [
    row('GET', inContext, 'token', '-', 'entity', listContextResources(clients, limits), 'search'),
    row('PUT', `${one}/context`, 'token', 'json', 'json', updateContext(clients)),
    row('POST', `${one}/context/actions/associate`, 'token', 'json', 'json', associate(clients)),
    row('POST', `${one}/context/actions/dissociate`, 'token', 'json', 'json', dissociate(clients)),

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
