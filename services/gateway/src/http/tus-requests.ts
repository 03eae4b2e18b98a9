import type { IncomingHttpHeaders } from 'node:http';
import { type ErrorRequestHandler, type RequestHandler, Router } from 'express';
import { errorAnswer } from './error-response.ts';
import { HttpProblem } from './http-problem.ts';
import type { Route } from './route.ts';

const TUS_VERSION = '1.0.0';

const OVERRIDES = new Set(['HEAD', 'PATCH', 'DELETE', 'OPTIONS']);

/**
 * Runs before the routes: requests of resumable uploads get the version in every answer, and have the method of
 * X-HTTP-Method-Override (tus 1.0, section 2.2).
 */
export function tusRequests(routes: readonly Route[]): RequestHandler {
  const uploads = routes.filter(({ protocol }) => protocol === 'tus');
  const router = Router({ strict: true, caseSensitive: true });
  router.all([...new Set(uploads.map(({ path }) => path))], (request, response, next) => {
    response.locals['isUpload'] = true;
    response.setHeader('tus-resumable', TUS_VERSION);
    const override = request.headers['x-http-method-override']?.toString().toUpperCase();
    if (override !== undefined && OVERRIDES.has(override)) request.method = override;
    next();
  });
  return router;
}

/** Refusals after which a retry may succeed. */
const TEMPORARY = new Set([409, 429, 503]);

/**
 * Runs after the routes: a temporary refusal of HEAD is 423, because clients restart the upload after every
 * other one.
 */
export function tusRefusals(): ErrorRequestHandler {
  return (thrown: unknown, request, response, next) => {
    if (request.method !== 'HEAD' || response.locals['isUpload'] !== true) return next(thrown);
    const { status, headers } = errorAnswer(thrown);
    if (!TEMPORARY.has(status)) return next(thrown);
    next(new HttpProblem(423, 'The offset of the upload is not available now.', headers));
  };
}

/** The headers of a request for an upload; its bytes are streamed. */
const UPLOAD_HEADERS = [
  'upload-length',
  'upload-defer-length',
  'upload-metadata',
  'upload-checksum',
  'content-length',
];

/** Distinguishes requests for an upload, as a body does elsewhere. */
export function uploadFingerprint(headers: IncomingHttpHeaders): Buffer {
  return Buffer.from(JSON.stringify(UPLOAD_HEADERS.map((name) => headers[name] ?? null)));
}
