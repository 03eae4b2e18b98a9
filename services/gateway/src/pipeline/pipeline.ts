import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { SlowReading } from '@kr/byte-relay';
import type { Vocabularies } from '@kr/metadata';
import type { Logger } from '@kr/telemetry';
import express, { type Request, type RequestHandler, type Response } from 'express';
import { type Authenticate, hasUserOrLink, requireCredentials } from '../caller.ts';
import type { HttpLimits } from '../config.ts';
import { chooseMediaType } from '../http/accept.ts';
import {
  checkContentEncoding,
  checkContentType,
  continueBody,
  decodeJsonBody,
  readBody,
} from '../http/body.ts';
import { assertIfMatch } from '../http/conditional.ts';
import type { Call, Reply } from '../http/endpoint.ts';
import { errorResponse } from '../http/error-response.ts';
import { type CrossOrigin, setCaching, setSecurityHeaders } from '../http/headers.ts';
import { unknownUrl } from '../http/http-problem.ts';
import { identify, idOf, logWhenClosed, nameRoute } from '../http/observe-requests.ts';
import { requestShape, useAbsoluteTarget } from '../http/request-shape.ts';
import { isRead, type Route } from '../http/route.ts';
import { tusRefusals, tusRequests, uploadFingerprint } from '../http/tus-requests.ts';
import { INDEX_HEADER, type WaitForIndex, wantsIndex } from '../http/wait-for-index.ts';
import type { ExecuteOnce } from '../idempotency/execute-once.ts';
import { creationKey, type KeyedRequest, keyedRequest } from '../idempotency/idempotency-key.ts';
import { withEndedLink } from '../identity/resolve-link.ts';
import type { ConcurrencyLimit, Permit } from '../overload/concurrency-limit.ts';
import type { PaceBodies } from '../overload/pace-bodies.ts';
import { costOf, countRefusals, type RateLimits } from '../rate-limits/rate-limits.ts';
import { renderJson, sendRendered } from '../rendering/rendered.ts';
import { isEntityUrl, type ResponseCache } from '../response-cache/response-cache.ts';
import { serveFromCache } from '../response-cache/serve-from-cache.ts';
import { executeReplayable, sendReply, sendStored } from './reply.ts';
import { routerOf } from './router.ts';

export interface PipelineDeps {
  routes: readonly Route[];
  limits: HttpLimits;
  logger: Logger;
  newId: () => string;
  crossOrigin: CrossOrigin;
  /** Forwards requests for pages; undefined: there are none. */
  pages: RequestHandler | undefined;
  authenticate: Authenticate;
  baseUrlOf: (request: IncomingMessage) => string;
  cache: ResponseCache;
  executeOnce: ExecuteOnce;
  rateLimits: RateLimits;
  waitForIndex: WaitForIndex;
  concurrency: ConcurrencyLimit;
  paceBodies: PaceBodies;
  /** Called when a client reads a file too slowly. */
  slowReading: SlowReading;
  vocabularies: Vocabularies;
}

/** The public interface. The steps of a request are listed here in their order: a request with several errors gets the first one. */
export function pipeline(deps: PipelineDeps): RequestListener {
  const { routes, limits, logger, newId, crossOrigin, pages, rateLimits, vocabularies } = deps;
  const answerFromCache = serveFromCache(deps);

  const application = express();
  application.disable('x-powered-by');
  // ETags are revisions here, and queries are read by the routes themselves.
  application.disable('etag');
  application.set('query parser', false);
  application.use(requestShape(limits));
  application.use(tusRequests(routes));
  if (pages !== undefined) application.use(pages);
  application.use(routerOf(routes, (route) => serveRoute(route, deps)));
  application.use(() => {
    throw unknownUrl();
  });
  application.use(countRefusals(rateLimits));
  application.use(tusRefusals());
  application.use(errorResponse(logger, vocabularies));

  return (request: IncomingMessage, response: ServerResponse) => {
    useAbsoluteTarget(request);
    identify(request, response, newId);
    logWhenClosed(logger, request, response);
    setSecurityHeaders(response);
    crossOrigin(request, response, () => {
      if (!answerFromCache(request, response)) application(request, response);
    });
  };
}

/** The steps of a request that a route answers. */
function serveRoute(route: Route, deps: PipelineDeps): RequestHandler {
  return async (request, response) => {
    nameRoute(response, route.method, route.path);
    const permit = acquirePermit(route, request, deps);
    const exchange = { route, request, response, permit, deps };
    try {
      const identified = await identifyCaller(exchange);
      const mediaType = negotiate(exchange, identified);
      const prepared = { ...identified, mediaType, ...(await prepareBody(exchange, identified)) };
      const key = keyOf(exchange, prepared);
      const call = { ...prepared, creationKey: key === undefined ? NO_BYTES : creationKey(key) };
      await (key === undefined ? answer(exchange, call) : answerIdempotent(exchange, call, key));
    } catch (error) {
      throw response.locals['hasEndedLink'] === true ? withEndedLink(error) : error;
    } finally {
      permit.release();
    }
  };
}

const NO_BYTES = Buffer.alloc(0);

/** The parts of a call that `prepareBody` returns. */
type PreparedBody = Pick<Call, 'principal' | 'body' | 'rawBody'>;
type IdentifiedCall = Omit<Call, 'mediaType' | 'body' | 'rawBody' | 'creationKey'>;

/** A request and its answer, on their way through the steps. */
interface Exchange {
  route: Route;
  request: Request;
  response: Response;
  permit: Permit;
  deps: PipelineDeps;
}

/** @throws ServiceError `unavailable`: too many requests are in progress */
function acquirePermit(
  { method, lane = isRead(method) ? 'read' : 'write' }: Route,
  request: Request,
  { concurrency }: PipelineDeps,
): Permit {
  return concurrency.acquire(lane, { isDownload: lane === 'transfer' && isRead(request.method) });
}

/**
 * Authenticates the caller, counts the request for the rate limits, and assigns the permit.
 *
 * @throws ServiceError `unauthenticated`; `rate_limited`
 * @throws HttpProblem 404: control characters in the path; 400: invalid host
 */
async function identifyCaller({ route, request, response, permit, deps }: Exchange): Promise<IdentifiedCall> {
  const signal = abortOnDisconnect(request, response);
  const params = pathParams(request);
  const query = queryOf(request.originalUrl);
  const baseUrl = deps.baseUrlOf(request);

  const credentials = { authorization: request.headers.authorization, query };
  const lookUp = () => deps.authenticate(credentials, idOf(response), signal);
  const { principal, hasEndedLink } = await deps.rateLimits.tryCredentials(
    { request, response, credentials },
    lookUp,
  );
  const counted = {
    userId: principal.userId,
    cost: costOf(route, { isKnown: hasUserOrLink(principal) }),
  };
  deps.rateLimits.count(request, response, counted);
  response.locals['hasEndedLink'] = hasEndedLink;
  if (route.auth !== 'open') requireCredentials(principal);
  const requesterId = deps.rateLimits.requesterId(request, principal.userId);
  permit.assign({ key: requesterId, isAnonymous: principal.userId === null });
  setCaching(response, { hasUser: principal.userId !== null, hasLink: principal.grants.length > 0 });

  return {
    params,
    query,
    path: request.path,
    headers: request.headers,
    method: request.method,
    bytes: request,
    principal,
    authenticateAgain: async () => {
      const again = await lookUp();
      if (route.auth !== 'open') requireCredentials(again.principal);
      return again.principal;
    },
    requesterId,
    addCost: deps.rateLimits.timeCost(request, response, counted),
    peer: request.socket.remoteAddress,
    baseUrl,
    vocabularies: deps.vocabularies,
    signal,
  };
}

/**
 * The media type of the answer.
 * @throws HttpProblem 406, 415; ServiceError `invalid`: the parameter `wait_for_index`
 */
function negotiate({ route, request: { headers } }: Exchange, { query }: IdentifiedCall): string {
  const mediaType = chooseMediaType(headers.accept, route.produces);
  checkContentType(headers['content-type'], route.body);
  if (route.body !== undefined) checkContentEncoding(headers['content-encoding']);
  wantsIndex(route, query);
  return mediaType;
}

/** Credentials of a request whose body took longer are checked again. */
const RECHECK_AFTER_MS = 1_000;

/**
 * Reads the body of a route that takes JSON, and lets the client send one that is streamed.
 *
 * @throws HttpProblem 400, 408, 413; ServiceError `invalid`, `unauthenticated`, `rate_limited`, `unavailable`
 */
async function prepareBody(
  { route, request, response, permit, deps }: Exchange,
  { principal, requesterId, signal, authenticateAgain }: IdentifiedCall,
): Promise<PreparedBody> {
  // An ignored body is still part of the idempotency key's request.
  const isKeyed = route.method === 'POST' && request.headers['idempotency-key'] !== undefined;
  if (route.body === undefined && !isKeyed) return { principal, body: undefined, rawBody: NO_BYTES };
  continueBody(request, response);
  if (route.body === 'bytes' || route.body === 'chunk')
    return { principal, body: undefined, rawBody: NO_BYTES };
  // A body that arrives slowly uses no service.
  permit.release();
  const startedAt = performance.now();
  const { bodyMaxBytes: maxBytes, bodyTimeoutMs: timeoutMs } = deps.limits;
  const rawBody = await readBody(request, { maxBytes, timeoutMs, onBytes: permit.addBodyBytes });
  await deps.paceBodies(requesterId, rawBody.length, signal);
  permit.reacquire();
  // The credentials may have been revoked while the body arrived.
  const wasSlow = performance.now() - startedAt > RECHECK_AFTER_MS;
  return {
    principal: wasSlow ? await authenticateAgain() : principal,
    body: route.body === 'json' ? decodeJsonBody(rawBody) : undefined,
    rawBody,
  };
}

/** @throws ServiceError `invalid`: the header Idempotency-Key is no key */
function keyOf(
  { route, request: { headers } }: Exchange,
  call: IdentifiedCall & PreparedBody,
): KeyedRequest | undefined {
  if (route.method !== 'POST') return undefined;
  const body = route.body === 'chunk' ? uploadFingerprint(headers) : call.rawBody;
  return keyedRequest(headers, { ...call, body });
}

/** Executes the request, unless its key has an answer already. */
async function answerIdempotent(exchange: Exchange, call: Call, key: KeyedRequest): Promise<void> {
  const { response, deps } = exchange;
  const result = await deps.executeOnce(key, () =>
    executeReplayable(() => execute(exchange, call), call, idOf(response)),
  );
  await awaitIndex(exchange, call, result.answer.status);
  sendStored(response, result);
}

async function answer(exchange: Exchange, call: Call): Promise<void> {
  const { route, request, response, deps } = exchange;
  const store = deps.cache.beginRead();
  const reply = await execute(exchange, call);
  await awaitIndex(exchange, call, reply.status);
  if (reply.as !== 'json') return sendReply(response, reply, call, deps.slowReading);
  if (route.method === 'GET' && reply.state !== undefined)
    assertIfMatch(request.headers['if-match'], reply.state.revision);
  const { mediaType, baseUrl } = call;
  const rendered = renderJson(reply, call);
  const { originalUrl, headers } = request;
  const isCacheable =
    route.method === 'GET' && headers.authorization === undefined && isEntityUrl(originalUrl);
  if (isCacheable && reply.publicOf !== undefined)
    store({ path: originalUrl, mediaType, baseUrl }, reply.publicOf, rendered);
  sendRendered(response, rendered, call);
}

/** The client of an answered change expects to see it: no older answer is served here from then on. */
async function execute({ route: { handler, changes = [] }, deps }: Exchange, call: Call): Promise<Reply> {
  if (!changes.includes('published')) return handler(call);
  try {
    return await handler(call);
  } finally {
    // Also after a failure: a lost answer does not show what took effect.
    deps.cache.forgetAll();
  }
}

async function awaitIndex(
  { route, response, permit, deps }: Exchange,
  call: Call,
  status: number,
): Promise<void> {
  if (status >= 300 || !wantsIndex(route, call.query)) return;
  // A waiting request uses no service.
  permit.release();
  response.setHeader(INDEX_HEADER, await deps.waitForIndex(route, call));
}

function queryOf(url: string): URLSearchParams {
  const start = url.indexOf('?');
  return new URLSearchParams(start === -1 ? '' : url.slice(start + 1));
}

// Reads are cancelled when the client disconnects. Writes continue: the caller may query the result later.
function abortOnDisconnect(request: Request, response: Response): AbortSignal {
  const abort = new AbortController();
  if (request.method === 'GET' || request.method === 'HEAD') {
    response.once('close', () => {
      if (!response.writableFinished) abort.abort();
    });
  }
  return abort.signal;
}

/** @throws HttpProblem 404: no name of ours has control characters in it */
function pathParams(request: Request): Record<string, string> {
  const params: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.params)) {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    if (typeof value !== 'string' || /[\u0000-\u001f\u007f]/.test(value)) throw unknownUrl();
    params[name] = value;
  }
  return params;
}
