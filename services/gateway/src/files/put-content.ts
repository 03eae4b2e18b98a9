import { text } from 'node:stream/consumers';
import { type Endpoint, json, param } from '../http/endpoint.ts';
import { storedFileJson } from '../rendering/file-json.ts';
import { authoriseEnabledFiles, type FilesDeps, fileHolder, reauthoriseFiles } from './authorise-files.ts';
import { asUnavailable, type ContentPlane } from './content-plane.ts';
import { contentRefusal } from './content-refusal.ts';

/** PUT /api/{kind}/{id}/draft/files/{key}/content: 200 with the file, still pending. */
export function putContent(deps: FilesDeps, plane: ContentPlane): Endpoint {
  return async (call) => {
    const { ticket } = await authoriseEnabledFiles(deps, 'write', call);
    const length = call.headers['content-length'];
    const answer = await plane.request({
      method: 'PUT',
      face: 'content',
      entityId: param(call, 'id'),
      key: param(call, 'key'),
      ticket,
      headers: {
        'content-type': 'application/octet-stream',
        ...(length === undefined ? {} : { 'content-length': length }),
      },
      body: call.bytes,
      recheck: () => reauthoriseFiles(deps, 'write', call),
    });
    if (answer.status !== 200) throw await contentRefusal(answer);
    const told = await text(answer.body).catch((cause: unknown) => {
      throw asUnavailable(cause);
    });
    return json(200, storedFileJson(JSON.parse(told), fileHolder(deps, call)));
  };
}
