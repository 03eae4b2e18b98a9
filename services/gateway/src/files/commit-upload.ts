import { type Endpoint, json, param } from '../http/endpoint.ts';
import { authoriseEnabledFiles, type FilesDeps } from './authorise-files.ts';
import { fileReply } from './file-reply.ts';

/** POST /api/{kind}/{id}/draft/files/{key}/commit: 200 with the completed file. */
export function commitUpload(deps: FilesDeps): Endpoint {
  return async (call) => {
    const { ticket } = await authoriseEnabledFiles(deps, 'write', call);
    const { entry } = await deps.clients.files.commitUpload(
      { ticket, key: param(call, 'key') },
      call.principal,
    );
    return json(200, fileReply(entry, deps, call));
  };
}
