import { type Endpoint, noContent, param } from '../http/endpoint.ts';
import { authoriseEnabledFiles, type FilesDeps } from './authorise-files.ts';

/** DELETE /api/{kind}/{id}/draft/files/{key} */
export function deleteFile(deps: FilesDeps): Endpoint {
  return async (call) => {
    const { ticket } = await authoriseEnabledFiles(deps, 'write', call);
    await deps.clients.files.deleteEntries({ ticket, keys: [param(call, 'key')] }, call.principal);
    return noContent();
  };
}
