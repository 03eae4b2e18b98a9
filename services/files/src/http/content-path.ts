import type { IncomingMessage, ServerResponse } from 'node:http';
import { ServiceError } from '@kr/service-error';
import type { TicketEntity } from '../access.ts';

/** The bytes of one file, or resumable uploads into it. */
export interface BytesPath {
  resource: 'content' | 'uploads';
  entityId: string;
  key: string;
  /** Undefined for the content, and where uploads begin. */
  uploadId: string | undefined;
}

/** All files of one entity. */
export interface ArchivePath {
  resource: 'archive';
  entityId: string;
}

/** Answers a request whose ticket was verified and names the entity of the path. */
export type Respond<Path> = (
  request: IncomingMessage,
  response: ServerResponse,
  ticket: TicketEntity,
  path: Omit<Path, 'entityId'>,
) => Promise<void>;

/** Answers a request that needs no ticket. */
export type RespondToAnyone = (response: ServerResponse) => void;

/**
 * The target of `/content/{entityId}/{key}`, `/uploads/{entityId}/{key}`, `/uploads/{entityId}/{key}/{uploadId}` or
 * `/archive/{entityId}`, with percent-encoded parts.
 * @throws ServiceError `not_found`: another path
 */
export function parseContentPath(url: string): BytesPath | ArchivePath {
  const [root, resource, ...parts] = (url.split('?')[0] ?? '').split('/');
  const [entityId = '', key, uploadId] = decoded(parts);
  if (root === '' && entityId !== '') {
    if (resource === 'archive' && parts.length === 1) return { resource, entityId };
    const most = resource === 'uploads' ? 3 : 2;
    if ((resource === 'content' || resource === 'uploads') && key !== undefined && parts.length <= most)
      return { resource, entityId, key, uploadId };
  }
  throw new ServiceError('not_found', 'Not found.');
}

function decoded(parts: readonly string[]): string[] {
  try {
    return parts.map((part) => decodeURIComponent(part));
  } catch {
    // Not percent-encoded UTF-8: no entity and no key has such a name.
    return [];
  }
}
