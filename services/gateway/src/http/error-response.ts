import { STATUS_CODES } from 'node:http';
import { RELEASED_VOCABULARIES, type Vocabularies } from '@kr/metadata';
import { ERROR_KINDS, ServiceError } from '@kr/service-error';
import type { Logger } from '@kr/telemetry';
import type { ErrorRequestHandler, Response } from 'express';
import { hintOf, withHint } from './hints.ts';
import { HttpProblem, unknownUrl } from './http-problem.ts';
import { idOf } from './observe-requests.ts';

/** Statuses that only HTTP knows. */
const CODES: Readonly<Record<number, string>> = {
  400: 'malformed_request',
  405: 'method_not_allowed',
  406: 'not_acceptable',
  408: 'request_timeout',
  414: 'url_too_long',
  415: 'unsupported_media_type',
  416: 'range_not_satisfiable',
  417: 'expectation_failed',
  423: 'upload_state_unknown',
  431: 'headers_too_large',
  505: 'http_version_not_supported',
};

/** The code of an error without a more specific one. Listed in docs/errors.md. */
function codeOfStatus(status: number): string {
  const ofKind = Object.entries(ERROR_KINDS).find(([, { http }]) => http === status)?.[0];
  return CODES[status] ?? ofKind ?? (status > 500 ? 'unavailable' : 'internal');
}

const PROBLEM_TYPE = 'application/problem+json';

const NAMED = /(?:^|,)\s*application\/problem\+json\s*(?:;([^,]*))?(?=,|$)/i;
const NO_WEIGHT = /(?:^|;)\s*q\s*=\s*0(?:\.0*)?\s*(?:;|$)/i;

/**
 * Whether an Accept header names the problem format for errors. A wildcard does not; other types and weights do not matter,
 * because a client that names it can read it.
 */
export function acceptsProblem(accept: string | undefined): boolean {
  const named = NAMED.exec(accept ?? '');
  return named !== null && !NO_WEIGHT.test(named[1] ?? '');
}

/** The members of an error body in our own format. */
export interface ErrorBody {
  status: number;
  message: string;
  code: string;
  /** The caller's next step. */
  hint?: string;
  errors?: readonly object[];
  /** Set for entities that an administrator removed. */
  tombstone?: object;
}

/** The same as problem details (RFC 9457). The type is the status alone; the code names the cause. */
function problemBody(
  { status, message, code, hint, errors, tombstone }: ErrorBody,
  requestId: string,
): object {
  return {
    type: 'about:blank',
    title: STATUS_CODES[status] ?? 'Error',
    status,
    detail: message,
    instance: `urn:request:${requestId}`,
    code,
    ...(hint === undefined ? {} : { hint }),
    ...(errors === undefined ? {} : { errors }),
    ...(tombstone === undefined ? {} : { tombstone }),
  };
}

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

/**
 * The only place where errors become answers; unexpected ones are logged with their cause, which clients
 * do not see.
 */
export function errorResponse(logger: Logger, vocabularies: Vocabularies): ErrorRequestHandler {
  return (thrown: unknown, request, response: Response, _next) => {
    if (response.headersSent) {
      // Half an answer must never look complete.
      logger.warn({ err: thrown, request_id: idOf(response) }, 'answer aborted');
      response.destroy();
      return;
    }
    const { accept } = request.headers;
    const { status, headers, body } = writtenError(thrown, {
      accept,
      requestId: idOf(response),
      vocabularies,
    });
    if (status === 500) logger.error({ err: causeOf(thrown), request_id: idOf(response) }, 'request failed');
    response.removeHeader('etag');
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    response.setHeader('content-length', body.length);
    response.writeHead(status).end(body);
  };
}

/** An error as an answer: in our own format, or as problem details if requested. */
export function writtenError(
  thrown: unknown,
  {
    accept,
    requestId,
    vocabularies,
  }: { accept: string | undefined; requestId: string; vocabularies: Vocabularies },
): WrittenError {
  const { status, headers, body } = errorAnswer(thrown, vocabularies);
  const isProblem = acceptsProblem(accept);
  const text = JSON.stringify(isProblem ? problemBody(body, requestId) : body);
  return {
    status,
    headers: { ...headers, 'content-type': isProblem ? PROBLEM_TYPE : 'application/json' },
    body: new Uint8Array(Buffer.from(text)),
  };
}

/**
 * The status and body of an error (behaviour of the interface: two shapes that differ in the order of their
 * keys). Only hints depend on the vocabularies.
 */
export function errorAnswer(
  thrown: unknown,
  vocabularies: Vocabularies = RELEASED_VOCABULARIES,
): ErrorAnswer {
  if (thrown instanceof HttpProblem) return httpAnswer(thrown, vocabularies);
  // The router's error for a path that is not UTF-8.
  if (thrown instanceof URIError) return httpAnswer(unknownUrl(), vocabularies);
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
      ...hinted(error.message, vocabularies),
      ...(error.issues.length === 0
        ? {}
        : { errors: error.issues.map((issue) => publicIssue(issue, vocabularies)) }),
      ...error.members,
    },
  };
}

// An internal ServiceError has no message for clients; the error that it wraps may have one.
function causeOf(thrown: unknown): unknown {
  return thrown instanceof ServiceError ? (thrown.cause ?? thrown) : thrown;
}

function httpAnswer(
  { status, headers, message, details }: HttpProblem,
  vocabularies: Vocabularies,
): ErrorAnswer {
  const { code = codeOfStatus(status), hint = hintOf(message, '', vocabularies), errors } = details;
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

function hinted(message: string, vocabularies: Vocabularies): { hint?: string } {
  const hint = hintOf(message, '', vocabularies);
  return hint === undefined ? {} : { hint };
}

function publicIssue(
  { field, messages, record }: ServiceError['issues'][number],
  vocabularies: Vocabularies,
): object {
  return {
    ...withHint({ field, messages }, vocabularies),
    ...(record === undefined || record === '' ? {} : { record }),
  };
}

function retryAfter({ retryAfterMs }: ServiceError): Record<string, string> {
  return retryAfterMs === undefined || retryAfterMs === 0
    ? {}
    : { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) };
}

// So the client learns the present revision without another read.
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
