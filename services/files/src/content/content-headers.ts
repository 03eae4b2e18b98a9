import { create } from 'content-disposition';
import type { FileContent } from '../file-entry.ts';
import { isSaved, servedType } from './media-type.ts';

/** What a browser must not do with a file, whatever is in it. */
const SAFETY = {
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

/** The headers of a download (REST document, 4.8), but those that depend on the range asked for. */
export function contentHeaders(key: string, content: FileContent): Record<string, string> {
  const type = servedType(content.mimetype, key);
  return {
    'accept-ranges': 'bytes',
    'content-disposition': isSaved(type) ? create(key) : 'inline',
    'content-md5': content.md5,
    'content-type': type,
    etag: entityTag(content),
    'last-modified': content.storedAt.toUTCString(),
    ...SAFETY,
  };
}
