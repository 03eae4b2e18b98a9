import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BlobStore } from '../blob/blob-store.ts';
import type { ArchivePath } from '../content/content-path.ts';
import { type ServeRepresentationDeps, serveRepresentation } from '../content/serve-representation.ts';
import type { Database } from '../store/prisma.ts';
import { archiveRepresentation } from './archive-representation.ts';
import { archivedFiles } from './archived-files.ts';
import { crc32sOfObjects } from './crc32-of-objects.ts';

export interface GetArchiveDeps extends ServeRepresentationDeps {
  database: Database;
  blobs: BlobStore;
}

/**
 * GET and HEAD /archive/{entityId}: the completed files of an entity as one ZIP file, with conditions and byte ranges.
 * What is deleted while it is read stays in it.
 *
 * @throws ServiceError `precondition_failed`
 */
export function getArchive(deps: GetArchiveDeps) {
  const crc32s = crc32sOfObjects(deps);
  return async (
    request: IncomingMessage,
    response: ServerResponse,
    { entityId }: ArchivePath,
  ): Promise<void> => {
    const files = await archivedFiles(deps.database, entityId);
    const archive = archiveRepresentation({ blobs: deps.blobs, crc32s }, entityId, files);
    await serveRepresentation(deps, request, response, archive);
  };
}
