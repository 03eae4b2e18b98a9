import { type Endpoint, noContent, param } from '../http/endpoint.ts';
import type { FilesDeps } from './authorise-files.ts';
import { deleteEntries } from './delete-entries.ts';

/** DELETE /api/{kind}/{id}/draft/files/{key} */
export function deleteFile(deps: FilesDeps): Endpoint {
  return async (call) => {
    await deleteEntries(deps, call, [param(call, 'key')]);
    return noContent();
  };
}
