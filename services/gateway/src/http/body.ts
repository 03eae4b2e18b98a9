import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { type Issue, ServiceError } from '@kr/service-error';
import { parse } from 'content-type';
import { HttpProblem } from './http-problem.ts';
import { assertValid } from './invalid.ts';
import type { Route } from './route.ts';

const ACCEPTED: Record<'json' | 'bytes', { types: readonly string[]; named: string }> = {
  json: {
    types: ['application/json'],
    named: 'application/json, application/ld+json;profile="https://w3id.org/ro/crate/1.1"',
  },
  bytes: { types: ['application/octet-stream'], named: 'application/octet-stream' },
};

/**
 * Accepts a Content-Type header that is absent or names the route's type, with any parameters.
 * @throws HttpProblem 415, which names the accepted type
 */
export function checkContentType(contentType: string | undefined, body: Route['body']): void {
  if (body === undefined || body === 'chunk' || contentType === undefined || contentType.trim() === '')
    return;
  const { types, named } = ACCEPTED[body];
  if (types.includes(typeOf(contentType))) return;
  throw new HttpProblem(415, `Invalid 'Content-Type' header. Expected one of: ${named}`);
}

function typeOf(contentType: string): string {
  return parse(contentType, { parameters: false }).type.toLowerCase();
}

/**
 * Lets a Content-Encoding header pass that is absent or `identity`: no body is decompressed, and no file is stored compressed.
 *
 * @throws HttpProblem 415
 */
export function checkContentEncoding(encoding: string | undefined): void {
  if (encoding === undefined || encoding.trim().toLowerCase() === 'identity' || encoding.trim() === '')
    return;
  throw new HttpProblem(415, "Invalid 'Content-Encoding' header. Expected one of: identity");
}

const waiting = new WeakSet<IncomingMessage>();

/**
 * Requests with `Expect: 100-continue` (RFC 9110, section 10.1.1) are routed like all others; `100 Continue` is sent by
 * `continueBody`, once they are accepted. Otherwise the connection ends with the answer.
 */
export function continueWhenWanted(server: Server): void {
  server.on('checkContinue', (request, response) => {
    waiting.add(request);
    response.shouldKeepAlive = false;
    server.emit('request', request, response);
  });
  // The application refuses it.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
}

/** Lets the client send the body of a request that was checked. */
export function continueBody(request: IncomingMessage, response: ServerResponse): void {
  if (!waiting.delete(request)) return;
  response.shouldKeepAlive = true;
  response.writeContinue();
}

export interface BodyLimits {
  maxBytes: number;
  /** Milliseconds from the start of the request within which the whole body must arrive. */
  timeoutMs: number;
  /** Called with the bytes of each chunk before it is stored. @throws Error rejects the body with this error */
  onBytes?: (bytes: number) => void;
}

/**
 * The whole body of a request.
 * @throws HttpProblem 413: more bytes than allowed, declared or counted; 408: timeout; 400: the client disconnected
 */
export function readBody(
  request: IncomingMessage,
  { maxBytes, timeoutMs, onBytes }: BodyLimits,
): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return Promise.reject(tooLarge(maxBytes));
  // A request that ended before a listener was attached emits no further events.
  if (request.destroyed) return Promise.reject(incomplete());

  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const timer = setTimeout(
      () =>
        finish(() =>
          reject(new HttpProblem(408, 'The request body did not arrive in time.', { connection: 'close' })),
        ),
      timeoutMs,
    );
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      if (size > maxBytes) return finish(() => reject(tooLarge(maxBytes)));
      try {
        onBytes?.(chunk.length);
      } catch (error) {
        return finish(() => reject(error));
      }
      chunks.push(chunk);
    };
    const onEnd = () => finish(() => resolve(Buffer.concat(chunks, size)));
    const onBroken = () => finish(() => reject(incomplete()));
    const finish = (outcome: () => void) => {
      clearTimeout(timer);
      request.off('data', onData).off('end', onEnd).off('error', onBroken).off('close', onBroken);
      // Without a listener, a later error would end the process.
      request.on('error', () => {});
      outcome();
    };
    request.on('data', onData).on('end', onEnd).on('error', onBroken).on('close', onBroken);
  });
}

function incomplete(): HttpProblem {
  return new HttpProblem(400, 'The request body is incomplete.');
}

function tooLarge(maxBytes: number): HttpProblem {
  return new HttpProblem(413, `The request body is larger than ${maxBytes} bytes.`);
}

const MAX_DEPTH = 32;
const MAX_ITEMS = 1_000;
/** In UTF-16 units. */
const MAX_TEXT_LENGTH = 65_536;

/** A coastline has more positions than any list of ours has items; the size of the body is limit enough. */
const UNLIMITED = 'coordinates';

/** Keys that would reach an object's prototype in code that copies carelessly. */
const REFUSED_KEYS = new Set(['__proto__', 'constructor', 'prototype']);

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\]:,]/g;

/**
 * A JSON body, more strictly than JSON.parse: UTF-8 only, no key twice in one object, no key that means an object's
 * prototype, no half of a surrogate pair, at most 32 levels, lists of at most 1,000 items and texts of at most 65,536
 * characters. An empty body is undefined.
 *
 * @throws ServiceError `invalid`
 */
export function decodeJsonBody(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  const text = utf8(bytes);
  if (text.trim() === '') return undefined;
  const value = parsed(text);
  const issue = structureIssue(text);
  if (issue !== undefined) assertValid([issue]);
  return value;
}

function utf8(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw notJson(cause);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw notJson(cause);
  }
}

function notJson(cause: unknown): ServiceError {
  return new ServiceError('invalid', 'Unable to decode JSON data in request body.', { cause });
}

interface Level {
  /** The keys before this place; undefined inside a list. */
  keys: Set<string> | undefined;
  /** The key or the index of the next value. */
  at: string | number;
}

/** The first structural problem of a text that is valid JSON. */
function structureIssue(text: string): Issue | undefined {
  const levels: Level[] = [];
  let latest = '';
  for (const [token] of text.matchAll(TOKEN)) {
    const level = levels.at(-1);
    if (token === '{' || token === '[') {
      if (levels.length === MAX_DEPTH) return issue(levels, `Nested deeper than ${MAX_DEPTH} levels.`);
      levels.push(token === '{' ? { keys: new Set(), at: '' } : { keys: undefined, at: 0 });
    } else if (token === '}' || token === ']') {
      levels.pop();
    } else if (token === ':' && level?.keys !== undefined) {
      // As services store it: without null characters.
      level.at = (JSON.parse(latest) as string).replaceAll('\u0000', '');
      if (REFUSED_KEYS.has(level.at)) return issue(levels, 'Unknown field.');
      if (level.keys.has(level.at)) return issue(levels, 'Duplicate key.');
      level.keys.add(level.at);
    } else if (token === ',' && typeof level?.at === 'number') {
      level.at += 1;
      if (level.at === MAX_ITEMS && !levels.some(({ at }) => at === UNLIMITED)) {
        levels.pop();
        return issue(levels, `Longer than maximum length ${MAX_ITEMS}.`);
      }
    } else if (token.startsWith('"')) {
      latest = token;
      if (isTooLong(token)) return issue(levels, `Longer than maximum length ${MAX_TEXT_LENGTH}.`);
      // Only an escape can bring half a pair: the bytes were valid UTF-8.
      if (token.includes('\\u') && !(JSON.parse(token) as string).isWellFormed()) {
        return issue(levels, 'Not a valid string.');
      }
    }
  }
  return undefined;
}

function isTooLong(token: string): boolean {
  return token.length - 2 > MAX_TEXT_LENGTH && (JSON.parse(token) as string).length > MAX_TEXT_LENGTH;
}

function issue(levels: readonly Level[], message: string): Issue {
  const path = levels.map(({ at }) => String(at).toWellFormed()).filter((part) => part !== '');
  return { field: path.length === 0 ? '_schema' : path.join('.'), messages: [message] };
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
