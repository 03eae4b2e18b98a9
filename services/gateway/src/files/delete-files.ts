import { type Endpoint, noContent } from '../http/endpoint.ts';
import { authoriseEnabledFiles, type FilesDeps } from './authorise-files.ts';

/** DELETE /api/{kind}/{id}/draft/files: all of them. */
export function deleteFiles(deps: FilesDeps): Endpoint {
  return async (call) => {
    const { ticket } = await authoriseEnabledFiles(deps, 'write', call);
    await deps.clients.files.deleteEntries({ ticket, keys: [] }, call.principal);
    return noContent();
  };
}
