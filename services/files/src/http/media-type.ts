import mime from 'mime';

const UNKNOWN = 'application/octet-stream';

/** The type of a file by the extension of its name. */
export function mimetypeOf(key: string): string {
  return mime.getType(key) ?? UNKNOWN;
}

const INLINE_TYPES = new Set([
  'audio/mpeg',
  'audio/ogg',
  'audio/wav',
  'audio/webm',
  'image/gif',
  'image/jpeg',
  'image/png',
  'image/tiff',
]);
const TEXT_TYPES = new Set([
  'application/javascript',
  'application/json',
  'application/xhtml+xml',
  'application/xml',
  'image/svg+xml',
  'text/css',
  'text/csv',
  'text/html',
  'text/javascript',
  'text/plain',
  'text/xml',
]);
const TEXT_NAMES = new Set([
  'authors',
  'changelog',
  'changes',
  'citation',
  'contributing',
  'copying',
  'license',
  'licence',
  'makefile',
  'notice',
  'readme',
]);

/**
 * The Content-Type a file is served with: types that no browser executes stay, executable text is plain
 * text, and everything else is to be saved.
 */
export function servedType(mimetype: string, key: string): string {
  if (INLINE_TYPES.has(mimetype)) return mimetype;
  if (TEXT_TYPES.has(mimetype) || TEXT_NAMES.has(key.toLowerCase())) return 'text/plain; charset=utf-8';
  return UNKNOWN;
}

/** Whether a file served with this type is saved instead of displayed. */
export function isAttachment(servedAs: string): boolean {
  return servedAs === UNKNOWN;
}
