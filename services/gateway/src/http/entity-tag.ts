import { VENDOR_TYPE } from './accept.ts';
import type { ShownState } from './endpoint.ts';

/**
 * The strong ETag of one representation: its revision, and after a point what else tells it from other representations
 * of the same thing (RFC 9110, section 8.8.3). What JSON shows of a revision alone has the revision alone.
 */
export function entityTag({ revision, variant }: ShownState, mediaType: string): string {
  const parts = [revision, variant, mediaType === VENDOR_TYPE ? 'ui' : ''];
  return `"${parts.filter((part) => part !== '').join('.')}"`;
}
