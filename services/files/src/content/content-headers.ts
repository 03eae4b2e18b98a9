import { create } from 'content-disposition';
import type { FileContent } from '../file-entry.ts';
import { isSaved, servedType } from './media-type.ts';

/** What a browser must not do with a file, whatever is in it. */
export const SAFETY = {
  'content-security-policy': "default-src 'none'; sandbox",
  'x-content-type-options': 'nosniff',
  'x-download-options': 'noopen',
  'x-frame-options': 'SAMEORIGIN',
  'x-permitted-cross-domain-policies': 'none',
  'x-xss-protection': '1; mode=block',
};

export function entityTag({ md5 }: FileContent): string {
  return `"md5:${md5}"`;
}

/** What a download tells of its file in every part of it (REST document, 4.8). */
export function contentHeaders(key: string, content: FileContent): Record<string, string> {
  const isShown = !isSaved(servedType(content.mimetype, key));
  return {
    'content-disposition': isShown ? 'inline' : create(key),
    'repr-digest': reprDigest(content),
  };
}

/**
 * Of the whole file, also beside a part of it (RFC 9530, 3). Older files have no sha256; md5 is in the registry as
 * deprecated, which by section 5 of the RFC may still be used against corruption, though not against an adversary.
 */
function reprDigest({ md5, sha256 }: FileContent): string {
  return sha256 === null ? `md5=:${base64(md5)}:` : `sha-256=:${base64(sha256)}:`;
}

function base64(hex: string): string {
  return Buffer.from(hex, 'hex').toString('base64');
}
