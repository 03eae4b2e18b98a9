import { type Endpoint, json, param } from '../http/endpoint.ts';
import { objectBody } from '../http/json-object.ts';
import { authoriseEnabledFiles, type FilesDeps } from './authorise-files.ts';
import { fileReply } from './file-reply.ts';

/** PUT /api/{kind}/{id}/draft/files/{key}: the body becomes the file's metadata. */
export function updateFileMetadata(deps: FilesDeps): Endpoint {
  return async (call) => {
    const { ticket } = await authoriseEnabledFiles(deps, 'write', call);
    const { entry } = await deps.clients.files.updateEntryMetadata(
      { ticket, key: param(call, 'key'), metadataJson: objectBody(call.body ?? {}) },
      call.principal,
    );
    return json(200, fileReply(entry, deps, call));
  };
}
