import { changeLink } from './access-links/change-link.ts';
import { createLink } from './access-links/create-link.ts';
import { listLinks } from './access-links/list-links.ts';
import { readLink } from './access-links/read-link.ts';
import { revokeLink } from './access-links/revoke-link.ts';
import type { Clients } from './clients.ts';
import type { GatewayConfig } from './config.ts';
import { createDraft } from './drafts/create-draft.ts';
import { deleteDraft } from './drafts/delete-draft.ts';
import { discardPid } from './drafts/discard-pid.ts';
import { editPublished } from './drafts/edit-published.ts';
import { publishDraft } from './drafts/publish-draft.ts';
import { readDraft } from './drafts/read-draft.ts';
import { reservePid } from './drafts/reserve-pid.ts';
import { updateDraft } from './drafts/update-draft.ts';
import type { FilesDeps } from './files/authorise-files.ts';
import { commitUpload } from './files/commit-upload.ts';
import type { ContentPlane } from './files/content-plane.ts';
import { deleteFile } from './files/delete-file.ts';
import { deleteFiles } from './files/delete-files.ts';
import { importFiles } from './files/import-files.ts';
import { listFiles } from './files/list-files.ts';
import { putContent } from './files/put-content.ts';
import { readContent } from './files/read-content.ts';
import { readFile } from './files/read-file.ts';
import { startUploads } from './files/start-uploads.ts';
import { updateFileMetadata } from './files/update-file-metadata.ts';
import type { Endpoint, Method, Route } from './http/endpoint.ts';
import type { UserStore } from './identity/user-store.ts';
import { whoAmI } from './identity/who-am-i.ts';
import { COLLECTION, KINDS, type Kind } from './kind.ts';
import { associate } from './package-context/associate.ts';
import { dissociate } from './package-context/dissociate.ts';
import { listContextResources } from './package-context/list-context-resources.ts';
import { updateContext } from './package-context/update-context.ts';
import { createVersion } from './published/create-version.ts';
import { deletePublished } from './published/delete-published.ts';
import { listVersions } from './published/list-versions.ts';
import { readLatest } from './published/read-latest.ts';
import { readPublished } from './published/read-published.ts';
import { addResources } from './resources/add-resources.ts';
import { importResources } from './resources/import-resources.ts';
import { listDraftResources } from './resources/list-draft-resources.ts';
import { listPackageResources } from './resources/list-package-resources.ts';
import { removeResources } from './resources/remove-resources.ts';
import { searchOwn } from './search/search-own.ts';
import { searchPublished } from './search/search-published.ts';
import { openapiJson, openapiYaml } from './site/openapi.ts';
import { ping } from './site/ping.ts';
import { welcome } from './site/welcome.ts';

export interface RoutesDeps {
  clients: Clients;
  contentPlane: ContentPlane;
  users: Pick<UserStore, 'findUser'>;
  limits: GatewayConfig['limits'];
}

/**
 * Every route of the public interface: method, path, whether it always needs credentials (`required`), the request
 * body it takes, the representations it gives, and the file that answers it. Earlier rows win.
 */
export function routes(deps: RoutesDeps): readonly Route[] {
  const { clients, users, limits } = deps;
  const both = [...KINDS];
  return [
    row('GET', '/', 'optional', 'nothing', 'anything', welcome()),
    row('GET', '/api/ping', 'optional', 'nothing', 'anything', ping()),
    row('GET', '/api/openapi.json', 'optional', 'nothing', 'anything', openapiJson()),
    row('GET', '/api/openapi.yaml', 'optional', 'nothing', 'anything', openapiYaml()),

    row('GET', '/api/user', 'required', 'nothing', 'json', whoAmI(users)),
    row('GET', '/api/user/records', 'required', 'nothing', 'entity', searchOwn(clients, ['record'], limits)),
    row(
      'GET',
      '/api/user/packages',
      'required',
      'nothing',
      'entity',
      searchOwn(clients, ['package'], limits),
    ),
    row('GET', '/api/user/search', 'required', 'nothing', 'entity', searchOwn(clients, both, limits)),
    row('GET', '/api/search', 'optional', 'nothing', 'entity', searchPublished(clients, both, limits)),

    ...packageRoutes(deps),
    ...KINDS.flatMap((kind) => entityRoutes(kind, deps)),
  ];
}

/** What resources and packages have in common. */
function entityRoutes(kind: Kind, { clients, contentPlane, limits }: RoutesDeps): Route[] {
  const all = `/api/${COLLECTION[kind]}`;
  const one = `${all}/:id`;
  const draft = `${one}/draft`;
  const links = `${one}/access/links`;
  const deps = { kind, clients };
  const ofDraft: FilesDeps = { ...deps, face: 'draft' };
  const ofPublished: FilesDeps = { ...deps, face: 'published' };
  return [
    row('GET', all, 'optional', 'nothing', 'entity', searchPublished(clients, [kind], limits)),
    row('POST', all, 'required', 'json', 'entity', createDraft(deps)),

    row('GET', one, 'optional', 'nothing', 'entity', readPublished(deps)),
    row('DELETE', one, 'required', 'nothing', 'entity', deletePublished(deps)),
    row('GET', `${one}/versions`, 'optional', 'nothing', 'entity', listVersions(deps, limits)),
    row('POST', `${one}/versions`, 'required', 'nothing', 'entity', createVersion(deps)),
    row('GET', `${one}/versions/latest`, 'optional', 'nothing', 'entity', readLatest(deps)),

    row('GET', draft, 'required', 'nothing', 'entity', readDraft(deps)),
    row('PUT', draft, 'required', 'json', 'entity', updateDraft(deps)),
    row('POST', draft, 'required', 'nothing', 'entity', editPublished(deps)),
    row('DELETE', draft, 'required', 'nothing', 'entity', deleteDraft(deps)),
    row('POST', `${draft}/actions/publish`, 'required', 'nothing', 'entity', publishDraft(deps)),
    row('POST', `${draft}/actions/files-import`, 'required', 'nothing', 'json', importFiles(ofDraft)),
    row('POST', `${draft}/pids/:scheme`, 'required', 'nothing', 'entity', reservePid(deps)),
    row('DELETE', `${draft}/pids/:scheme`, 'required', 'nothing', 'entity', discardPid(deps)),

    row('GET', `${draft}/files`, 'required', 'nothing', 'json', listFiles(ofDraft)),
    row('POST', `${draft}/files`, 'required', 'json', 'json', startUploads(ofDraft)),
    row('DELETE', `${draft}/files`, 'required', 'nothing', 'json', deleteFiles(ofDraft)),
    row('GET', `${draft}/files/:key`, 'required', 'nothing', 'json', readFile(ofDraft)),
    row('PUT', `${draft}/files/:key`, 'required', 'json', 'json', updateFileMetadata(ofDraft)),
    row('DELETE', `${draft}/files/:key`, 'required', 'nothing', 'json', deleteFile(ofDraft)),
    row(
      'GET',
      `${draft}/files/:key/content`,
      'required',
      'nothing',
      'anything',
      readContent(ofDraft, contentPlane),
    ),
    row('PUT', `${draft}/files/:key/content`, 'required', 'bytes', 'json', putContent(ofDraft, contentPlane)),
    row('POST', `${draft}/files/:key/commit`, 'required', 'nothing', 'json', commitUpload(ofDraft)),

    row('GET', `${one}/files`, 'optional', 'nothing', 'json', listFiles(ofPublished)),
    row('GET', `${one}/files/:key`, 'optional', 'nothing', 'json', readFile(ofPublished)),
    row(
      'GET',
      `${one}/files/:key/content`,
      'optional',
      'nothing',
      'anything',
      readContent(ofPublished, contentPlane),
    ),

    row('GET', links, 'required', 'nothing', 'json', listLinks(deps)),
    row('POST', links, 'required', 'json', 'json', createLink(deps)),
    row('GET', `${links}/:linkId`, 'required', 'nothing', 'json', readLink(deps)),
    row('PATCH', `${links}/:linkId`, 'required', 'json', 'json', changeLink(deps)),
    row('DELETE', `${links}/:linkId`, 'required', 'nothing', 'json', revokeLink(deps)),
  ];
}

/** What only packages have. */
function packageRoutes({ clients, limits }: RoutesDeps): Route[] {
  const one = '/api/packages/:id';
  const inContext = '/api/packages/context/:parentId/resources';
  return [
    row('GET', inContext, 'required', 'nothing', 'entity', listContextResources(clients, limits)),
    row('PUT', `${one}/context`, 'required', 'json', 'json', updateContext(clients)),
    row('POST', `${one}/context/actions/associate`, 'required', 'json', 'json', associate(clients)),
    row('POST', `${one}/context/actions/dissociate`, 'required', 'json', 'json', dissociate(clients)),

    row('GET', `${one}/resources`, 'optional', 'nothing', 'entity', listPackageResources(clients, limits)),
    row(
      'GET',
      `${one}/draft/resources`,
      'required',
      'nothing',
      'entity',
      listDraftResources(clients, limits),
    ),
    row('POST', `${one}/draft/resources`, 'required', 'json', 'json', addResources(clients)),
    row('DELETE', `${one}/draft/resources`, 'required', 'json', 'json', removeResources(clients)),
    row(
      'POST',
      `${one}/draft/actions/resources-import`,
      'required',
      'nothing',
      'json',
      importResources(clients),
    ),
  ];
}

function row(
  method: Method,
  path: string,
  auth: Route['auth'],
  takes: Route['takes'],
  gives: Route['gives'],
  endpoint: Endpoint,
): Route {
  return { method, path, auth, takes, gives, endpoint };
}
