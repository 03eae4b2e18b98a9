import { type Endpoint, json } from '../http/endpoint.ts';
import { fileListJson } from '../rendering/file-json.ts';
import { authoriseFiles, type FilesDeps, fileHolder } from './authorise-files.ts';

/** GET /api/{kind}/{id}/draft/files, /api/{kind}/{id}/files */
export function listFiles(deps: FilesDeps): Endpoint {
  return async (call) => {
    const authorised = await authoriseFiles(deps, 'read', call);
    const { ticket, filesEnabled } = authorised;
    const { entries } = filesEnabled
      ? await deps.clients.files.listEntries({ ticket }, call.principal, { signal: call.signal })
      : { entries: [] };
    return json(200, fileListJson(authorised, entries, fileHolder(deps, call)));
  };
}
