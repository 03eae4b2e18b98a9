import { type Endpoint, param } from '../http/endpoint.ts';
import type { FilesDeps } from './authorise-files.ts';
import type { ContentPlane } from './content-plane.ts';
import { download } from './download.ts';
import type { HandOver } from './hand-over.ts';

/** GET /api/{kind}/{id}/draft/files/{key}/content, /api/{kind}/{id}/files/{key}/content: the bytes, or parts of them. */
export function readContent(deps: FilesDeps, plane: ContentPlane, handOver: HandOver): Endpoint {
  return (call) => download(deps, plane, call, { face: 'content', key: param(call, 'key'), handOver });
}
