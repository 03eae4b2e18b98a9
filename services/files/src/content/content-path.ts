import { ServiceError } from '@kr/service-error';

export interface ContentPath {
  entityId: string;
  key: string;
}

/** What `/content/{entityId}/{key}` names; both percent-encoded. @throws ServiceError `not_found`: another path */
export function contentPath(url: string): ContentPath {
  const [root, first, entityId, key, ...rest] = (url.split('?')[0] ?? '').split('/');
  if (
    root === '' &&
    first === 'content' &&
    entityId !== undefined &&
    key !== undefined &&
    rest.length === 0
  ) {
    const [decodedId, decodedKey] = [decoded(entityId), decoded(key)];
    if (decodedId !== undefined && decodedKey !== undefined) return { entityId: decodedId, key: decodedKey };
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
