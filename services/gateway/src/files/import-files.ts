import { type Endpoint, json } from '../http/endpoint.ts';
import { fileListJson } from '../rendering/file-json.ts';
import { authoriseEnabledFiles, type FilesDeps, fileHolder } from './authorise-files.ts';

/** POST /api/{kind}/{id}/draft/actions/files-import: 201 with the files of the previous version, shared with it. */
export function importFiles(deps: FilesDeps): Endpoint {
  return async (call) => {
    const authorised = await authoriseEnabledFiles(deps, 'import', call);
    const { entries } = await deps.clients.files.importEntries({ ticket: authorised.ticket }, call.principal);
    return json(201, fileListJson(authorised, entries, fileHolder(deps, call)));
  };
}
