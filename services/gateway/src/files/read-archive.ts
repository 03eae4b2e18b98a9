import type { Endpoint } from '../http/endpoint.ts';
import type { FilesDeps } from './authorise-files.ts';
import type { ContentPlane } from './content-plane.ts';
import { download } from './download.ts';

/** GET /api/{kind}/{id}/draft/files-archive, /api/{kind}/{id}/files-archive: all files as one ZIP file. */
export function readArchive(deps: FilesDeps, plane: ContentPlane): Endpoint {
  return (call) => download(deps, plane, call, { face: 'archive' });
}
