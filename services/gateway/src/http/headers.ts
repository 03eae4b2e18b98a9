import type { IncomingMessage, ServerResponse } from 'node:http';
import cors from 'cors';

/** Browsers must not frame, sniff or run responses. A URL may contain a token, so it is never sent as a referrer. */
export const SECURITY_HEADERS = Object.entries({
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  vary: 'Accept, Authorization',
});

export function setSecurityHeaders(response: ServerResponse): void {
  for (const [name, value] of SECURITY_HEADERS) response.setHeader(name, value);
}

/** Answers to credentials are private; answers to links must not be stored at all. */
export function setCaching(
  response: ServerResponse,
  { hasUser, hasLink }: { hasUser: boolean; hasLink: boolean },
): void {
  if (hasLink) response.setHeader('cache-control', 'private, no-store');
  else if (hasUser) response.setHeader('cache-control', 'private, no-cache');
  else response.setHeader('cache-control', 'no-cache');
}

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

/** Seconds for which a browser may cache the preflight. */
const PREFLIGHT_LASTS = 3_600;

export type CrossOrigin = (request: IncomingMessage, response: ServerResponse, next: () => void) => void;

/**
 * Allows pages of these origins to read answers (CORS of the Fetch standard); `*` allows all. Preflights are answered
 * here for every path. Credentials are headers that a page sets itself, never cookies, so no answer sets
 * `Access-Control-Allow-Credentials`.
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
  // OPTIONS is also a method of the API: it describes uploads.
  const addHeaders = cors({ ...options, preflightContinue: true });
  return (request, response, next) => {
    const isPreflight =
      request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined;
    if (isPreflight) answerPreflight(request, response, next);
    else addHeaders(request, response, next);
  };
}
