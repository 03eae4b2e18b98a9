import { created, type Endpoint } from '../http/endpoint.ts';
import { fileListJson } from '../rendering/file-json.ts';
import { authoriseEnabledFiles, type FilesDeps, fileHolder } from './authorise-files.ts';

/** POST /api/{kind}/{id}/draft/actions/files-import: 201 with the files of the previous version, shared with it. */
export function importFiles(deps: FilesDeps): Endpoint {
  return async (call) => {
    const authorised = await authoriseEnabledFiles(deps, 'import', call);
    const { entries } = await deps.clients.files.importEntries({ ticket: authorised.ticket }, call.principal);
    return created(fileListJson(authorised, entries, fileHolder(deps, call)));
  };
}
