import { type Endpoint, noContent } from '../http/endpoint.ts';
import type { FilesDeps } from './authorise-files.ts';
import { deleteEntries } from './delete-entries.ts';

/** DELETE /api/{kind}/{id}/draft/files: all of them. */
export function deleteFiles(deps: FilesDeps): Endpoint {
  return async (call) => {
    await deleteEntries(deps, call, []);
    return noContent();
  };
}
