import type { IncomingHttpHeaders } from 'node:http';
import type { ErrorRequestHandler, RequestHandler } from 'express';
import { errorAnswer } from './error-response.ts';
import { HttpProblem } from './http-problem.ts';

const TUS_VERSION = '1.0.0';

const UPLOADS = /^\/api\/(?:records|packages)\/[^/]+\/draft\/files\/[^/]+\/tus(?:\/[^/]+)?$/;
const OVERRIDES = new Set(['HEAD', 'PATCH', 'DELETE', 'OPTIONS']);

/**
 * Before the routes: requests of resumable uploads say the version in every answer, and count as of the method that
 * X-HTTP-Method-Override names (tus 1.0, section 2.2).
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

/** Refusals after which the same may be answered when it is asked again. */
const PASSING = new Set([409, 429, 503]);

/**
 * After the routes: whoever refuses to tell for now how far an upload has come says 423, for clients begin again from
 * nothing after every other refusal of HEAD.
 */
export function tusRefusals(): ErrorRequestHandler {
  return (thrown: unknown, request, _response, next) => {
    if (request.method !== 'HEAD' || !UPLOADS.test(request.path)) return next(thrown);
    const { status, headers } = errorAnswer(thrown);
    if (!PASSING.has(status)) return next(thrown);
    next(new HttpProblem(423, 'Where the upload stands cannot be told now.', headers));
  };
}

/** What a request asks of an upload beside its bytes, which are passed on unread. */
const ASKED = [
  'upload-length',
  'upload-defer-length',
  'upload-metadata',
  'upload-checksum',
  'content-length',
];

/** Tells one request for an upload from another, as a body does elsewhere. */
export function askedUpload(headers: IncomingHttpHeaders): Buffer {
  return Buffer.from(JSON.stringify(ASKED.map((name) => headers[name] ?? null)));
}
