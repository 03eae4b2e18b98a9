import { ERROR_KINDS, ServiceError } from '@kr/service-error';
import type { Logger } from '@kr/telemetry';
import type { ErrorRequestHandler, Response } from 'express';
import { hintOf, withHint } from './hints.ts';
import { HttpProblem, unknownUrl } from './http-problem.ts';
import { asksForProblem, type ErrorBody, PROBLEM_TYPE, problemBody } from './problem.ts';
import { idOf } from './request-id.ts';
import { codeOfStatus } from './status-code.ts';

const INTERNAL =
  'The server encountered an internal error and was unable to complete your request. Either the server is overloaded or there is an error in the application.';

interface ErrorAnswer {
  status: number;
  headers: Record<string, string>;
  body: ErrorBody;
}

/** An error as it goes to the wire. */
export interface WrittenError {
  status: number;
  headers: Record<string, string>;
  body: Uint8Array<ArrayBuffer>;
}

/** The one place where failures become answers; what nobody foresaw is logged with its cause and shown without. */
export function errorResponse(logger: Logger): ErrorRequestHandler {
  return (thrown: unknown, request, response: Response, _next) => {
    if (response.headersSent) {
      // Half an answer must never look complete.
      logger.warn({ err: thrown, request_id: idOf(response) }, 'answer broken off');
      response.destroy();
      return;
    }
    const { accept } = request.headers;
    const { status, headers, body } = writtenError(thrown, { accept, requestId: idOf(response) });
    if (status === 500) logger.error({ err: causeOf(thrown), request_id: idOf(response) }, 'request failed');
    response.removeHeader('etag');
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    response.setHeader('content-length', body.length);
    response.writeHead(status).end(body);
  };
}

/** A failure as it is answered: in our own format, or as problem details where those are asked for. */
export function writtenError(
  thrown: unknown,
  { accept, requestId }: { accept: string | undefined; requestId: string },
): WrittenError {
  const { status, headers, body } = errorAnswer(thrown);
  const isProblem = asksForProblem(accept);
  const text = JSON.stringify(isProblem ? problemBody(body, requestId) : body);
  return {
    status,
    headers: { ...headers, 'content-type': isProblem ? PROBLEM_TYPE : 'application/json' },
    body: new Uint8Array(Buffer.from(text)),
  };
}

/** What a failure answers (behaviour of the interface: two shapes that differ in the order of their keys). */
export function errorAnswer(thrown: unknown): ErrorAnswer {
  if (thrown instanceof HttpProblem) return httpAnswer(thrown);
  // The router's word for a path that is not UTF-8.
  if (thrown instanceof URIError) return httpAnswer(unknownUrl());
  const error = ServiceError.from(thrown);
  const { http: status } = ERROR_KINDS[error.kind];
  const { code = error.kind } = error;
  if (error.kind === 'internal') return { status, headers: {}, body: { message: INTERNAL, status, code } };
  if (error.kind === 'rate_limited') {
    return { status, headers: retryAfter(error), body: { message: error.message, status, code } };
  }
  return {
    status,
    headers: { ...retryAfter(error), ...challenge(error), ...currentTag(error) },
    body: {
      status,
      message: error.message,
      code,
      ...hinted(error.message),
      ...(error.issues.length === 0 ? {} : { errors: error.issues.map(publicIssue) }),
      ...error.members,
    },
  };
}

// An internal ServiceError says nothing of itself; what it wraps does.
function causeOf(thrown: unknown): unknown {
  return thrown instanceof ServiceError ? (thrown.cause ?? thrown) : thrown;
}

function httpAnswer({ status, headers, message, details }: HttpProblem): ErrorAnswer {
  const { code = codeOfStatus(status), hint = hintOf(message), errors } = details;
  if (code === 'unknown_url' || code === 'method_not_allowed')
    return { status, headers, body: { message, status, code } };
  return {
    status,
    headers,
    body: {
      status,
      message,
      code,
      ...(hint === undefined ? {} : { hint }),
      ...(errors === undefined ? {} : { errors }),
    },
  };
}

function hinted(message: string): { hint?: string } {
  const hint = hintOf(message);
  return hint === undefined ? {} : { hint };
}

function publicIssue({ field, messages, record }: ServiceError['issues'][number]): object {
  return { ...withHint({ field, messages }), ...(record === undefined || record === '' ? {} : { record }) };
}

function retryAfter({ retryAfterMs }: ServiceError): Record<string, string> {
  return retryAfterMs === undefined || retryAfterMs === 0
    ? {}
    : { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) };
}

// So that who came too late need not read again to know what to name.
function currentTag({ currentRevision }: ServiceError): Record<string, string> {
  return currentRevision === undefined ? {} : { etag: `"${currentRevision}"` };
}

// RFC 6750, section 3: a challenge names an error only when there were credentials.
function challenge({ kind, code }: ServiceError): Record<string, string> {
  // `invalid_token` is the standard's only error for credentials that a client can do nothing about.
  if (code === 'user_disabled') return { 'www-authenticate': 'Bearer error="invalid_token"' };
  if (code === 'invalid_token' || code === 'insufficient_scope')
    return { 'www-authenticate': `Bearer error="${code}"` };
  return kind === 'unauthenticated' ? { 'www-authenticate': 'Bearer' } : {};
}
