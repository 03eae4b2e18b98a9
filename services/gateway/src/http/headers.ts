import type { IncomingMessage, ServerResponse } from 'node:http';
import cors from 'cors';
import type { RequestHandler } from 'express';

/** Nothing this host answers is to be framed, sniffed or run; an address may carry a token, so it is never passed on. */
export const SECURITY_HEADERS = Object.entries({
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  vary: 'Accept, Authorization',
});

export function securityHeaders(): RequestHandler {
  return (_request, response, next) => {
    setSecurityHeaders(response);
    next();
  };
}

export function setSecurityHeaders(response: ServerResponse): void {
  for (const [name, value] of SECURITY_HEADERS) response.setHeader(name, value);
}

/** What a credential opened is nobody else's; what a link opened is not even to be kept. */
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
