import type { IncomingMessage, ServerResponse } from 'node:http';
import { ServiceError } from '@kr/service-error';
import type { TicketEntity } from '../access.ts';

/** One file of one entity. */
export interface ContentPath {
  entityId: string;
  key: string;
}

export interface BytesPath extends ContentPath {
  /** The bytes as they are, or resumable uploads of them. */
  face: 'content' | 'uploads';
  /** Undefined for the content, and where uploads begin. */
  uploadId: string | undefined;
}

/** All files of one entity. */
export interface ArchivePath {
  face: 'archive';
  entityId: string;
}

/** Answers a request whose ticket was verified. */
export type Respond<Path> = (
  request: IncomingMessage,
  response: ServerResponse,
  path: Path,
  entity: TicketEntity,
) => Promise<void>;

/**
 * The target of `/content/{entityId}/{key}`, `/uploads/{entityId}/{key}`, `/uploads/{entityId}/{key}/{uploadId}` or
 * `/archive/{entityId}`, with percent-encoded parts.
 * @throws ServiceError `not_found`: another path
 */
export function planePath(url: string): BytesPath | ArchivePath {
  const [root, face, ...parts] = (url.split('?')[0] ?? '').split('/');
  const [entityId, key, uploadId] = parts.map(decoded);
  const isWhole = root === '' && parts.every((part) => decoded(part) !== undefined);
  if (isWhole && entityId !== undefined && entityId !== '') {
    if (face === 'archive' && parts.length === 1) return { face, entityId };
    const most = face === 'uploads' ? 3 : 2;
    if ((face === 'content' || face === 'uploads') && key !== undefined && parts.length <= most)
      return { face, entityId, key, uploadId };
  }
  throw new ServiceError('not_found', 'Not found.');
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    // Not percent-encoded UTF-8: no entity and no key is called so.
    return undefined;
  }
}
