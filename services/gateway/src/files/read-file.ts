import { type Endpoint, json, param } from '../http/endpoint.ts';
import { authoriseEnabledFiles, type FilesDeps } from './authorise-files.ts';
import { fileReply } from './file-reply.ts';

/** GET /api/{kind}/{id}/draft/files/{key}, /api/{kind}/{id}/files/{key} */
export function readFile(deps: FilesDeps): Endpoint {
  return async (call) => {
    const { ticket } = await authoriseEnabledFiles(deps, 'read', call);
    const key = param(call, 'key');
    const { entry } = await deps.clients.files.readEntry({ ticket, key }, call.principal, {
      signal: call.signal,
    });
    return json(200, fileReply(entry, deps, call));
  };
}
