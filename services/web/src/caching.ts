import type { Reader } from './api/repository.ts';

/**
 * `Cache-Control` of an answer: answers to links must not be stored at all, answers to credentials only by their reader.
 * @param forEverybody the value for readers without either
 */
export function cachingOf({ token, forwarded }: Reader, forEverybody = 'no-cache'): string {
  if (token !== undefined) return 'private, no-store';
  return forwarded['authorization'] === undefined ? forEverybody : 'private, no-cache';
}
