import { ServiceError } from '@kr/service-error';

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

/**
 * What `/content/{entityId}/{key}`, `/uploads/{entityId}/{key}` or `/uploads/{entityId}/{key}/{uploadId}` names, its
 * parts percent-encoded.
 *
 * @throws ServiceError `not_found`: another path
 */
export function bytesPath(url: string): BytesPath {
  const [root, face, ...parts] = (url.split('?')[0] ?? '').split('/');
  const most = face === 'uploads' ? 3 : 2;
  if (root === '' && (face === 'content' || face === 'uploads') && parts.length <= most) {
    const [entityId, key, uploadId] = parts.map(decoded);
    if (entityId !== undefined && key !== undefined && (parts.length < 3 || uploadId !== undefined))
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
