import type { ServerResponse } from 'node:http';
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
