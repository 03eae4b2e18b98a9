import { type Endpoint, param } from '../http/endpoint.ts';
import { authoriseEnabledFiles, type FilesDeps } from './authorise-files.ts';
import type { ContentPlane } from './content-plane.ts';
import { contentRefusal } from './content-refusal.ts';

/** What chooses a part of a file, or none when it is known already. */
const CONDITIONS = [
  'range',
  'if-range',
  'if-match',
  'if-none-match',
  'if-modified-since',
  'if-unmodified-since',
] as const;

/** GET /api/{kind}/{id}/draft/files/{key}/content, /api/{kind}/{id}/files/{key}/content: the bytes, or a range. */
export function readContent(deps: FilesDeps, plane: ContentPlane): Endpoint {
  return async (call) => {
    const { ticket } = await authoriseEnabledFiles(deps, 'read', call);
    const headers: Record<string, string> = {};
    for (const name of CONDITIONS) {
      const value = call.headers[name];
      if (value !== undefined) headers[name] = String(value);
    }
    const answer = await plane.request({
      method: call.method === 'HEAD' ? 'HEAD' : 'GET',
      face: 'content',
      entityId: param(call, 'id'),
      key: param(call, 'key'),
      ticket,
      headers,
      signal: call.signal,
    });
    if (answer.status >= 400) throw await contentRefusal(answer);
    return { as: 'stream', status: answer.status, headers: answer.headers, stream: answer.body };
  };
}
