import type { IncomingMessage, ServerResponse } from 'node:http';
import cors from 'cors';

/** Beside those of CORS itself, which every page may send. */
const REQUEST_HEADERS = [
  'Authorization',
  'Content-Type',
  'Idempotency-Key',
  'If-Match',
  'If-Modified-Since',
  'If-None-Match',
  'If-Range',
  'If-Unmodified-Since',
  'Range',
  'X-Request-Id',
  'Tus-Resumable',
  'Upload-Checksum',
  'Upload-Defer-Length',
  'Upload-Length',
  'Upload-Metadata',
  'Upload-Offset',
  'X-HTTP-Method-Override',
];

const RESPONSE_HEADERS = [
  'Accept-Ranges',
  'Allow',
  'Content-Disposition',
  'Content-Length',
  'Content-MD5',
  'Content-Range',
  'ETag',
  'Idempotency-Replayed',
  'Knowledge-Index',
  'Link',
  'Location',
  'RateLimit',
  'RateLimit-Policy',
  'Repr-Digest',
  'Retry-After',
  'WWW-Authenticate',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-Request-Id',
  'Tus-Checksum-Algorithm',
  'Tus-Extension',
  'Tus-Max-Size',
  'Tus-Resumable',
  'Tus-Version',
  'Upload-Defer-Length',
  'Upload-Expires',
  'Upload-Length',
  'Upload-Metadata',
  'Upload-Offset',
];

/** For how many seconds a browser need not ask again. */
const PREFLIGHT_LASTS = 3_600;

export type CrossOrigin = (request: IncomingMessage, response: ServerResponse, next: () => void) => void;

/**
 * Lets pages of these origins read answers (CORS of the Fetch standard); `*` lets those of all. Preflights are answered
 * here, whatever they ask about. Credentials are headers that a page sends by itself, never cookies, so no answer allows
 * credentials in the sense of the standard.
 */
export function crossOrigin(allowedOrigins: readonly string[]): CrossOrigin {
  if (allowedOrigins.length === 0) return (_request, _response, next) => next();
  const options = {
    origin: allowedOrigins.includes('*') ? '*' : [...allowedOrigins],
    methods: 'GET,HEAD,POST,PUT,PATCH,DELETE,OPTIONS',
    allowedHeaders: REQUEST_HEADERS,
    exposedHeaders: RESPONSE_HEADERS,
    maxAge: PREFLIGHT_LASTS,
  };
  const answerPreflight = cors(options);
  // OPTIONS is a method of ours too: it tells of uploads.
  const tell = cors({ ...options, preflightContinue: true });
  return (request, response, next) => {
    const isPreflight =
      request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined;
    if (isPreflight) answerPreflight(request, response, next);
    else tell(request, response, next);
  };
}
