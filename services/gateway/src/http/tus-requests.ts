import type { IncomingHttpHeaders } from 'node:http';
import type { ErrorRequestHandler, RequestHandler } from 'express';
import { errorAnswer } from './error-response.ts';
import { HttpProblem } from './http-problem.ts';

const TUS_VERSION = '1.0.0';

const UPLOADS = /^\/api\/(?:records|packages)\/[^/]+\/draft\/files\/[^/]+\/tus(?:\/[^/]+)?$/;
const OVERRIDES = new Set(['HEAD', 'PATCH', 'DELETE', 'OPTIONS']);

/**
 * Runs before the routes: requests of resumable uploads get the version in every answer, and have the method of
 * X-HTTP-Method-Override (tus 1.0, section 2.2).
 */
export function tusRequests(): RequestHandler {
  return (request, response, next) => {
    if (UPLOADS.test(request.path)) {
      response.setHeader('tus-resumable', TUS_VERSION);
      const override = request.headers['x-http-method-override']?.toString().toUpperCase();
      if (override !== undefined && OVERRIDES.has(override)) request.method = override;
    }
    next();
  };
}

/** Refusals after which a retry may succeed. */
const PASSING = new Set([409, 429, 503]);

/**
 * Runs after the routes: a temporary refusal of HEAD is 423, because clients restart the upload after every
 * other one.
 */
export function tusRefusals(): ErrorRequestHandler {
  return (thrown: unknown, request, _response, next) => {
    if (request.method !== 'HEAD' || !UPLOADS.test(request.path)) return next(thrown);
    const { status, headers } = errorAnswer(thrown);
    if (!PASSING.has(status)) return next(thrown);
    next(new HttpProblem(423, 'The offset of the upload is not available now.', headers));
  };
}

/** The headers of a request for an upload; its bytes are streamed. */
const ASKED = [
  'upload-length',
  'upload-defer-length',
  'upload-metadata',
  'upload-checksum',
  'content-length',
];

/** Distinguishes requests for an upload, as a body does elsewhere. */
export function askedUpload(headers: IncomingHttpHeaders): Buffer {
  return Buffer.from(JSON.stringify(ASKED.map((name) => headers[name] ?? null)));
}
