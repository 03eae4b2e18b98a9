import { isUuid, uuid } from './uuid.ts';

export const OBJECTS = 'objects/';
export const MARK = 'store-id';

export function objectKey(id: string): string {
  return OBJECTS + uuid(id);
}

/** Undefined where the key is none of ours. */
export function objectOfKey(key: string): string | undefined {
  const id = key.slice(OBJECTS.length);
  return key.startsWith(OBJECTS) && isUuid(id) ? id : undefined;
}
