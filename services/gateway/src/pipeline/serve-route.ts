import type { SlowReading } from '@kr/byte-relay';
import { type Request, type RequestHandler, type Response, Router } from 'express';
import { type Authenticate, hasCredentials, requireCredentials } from '../caller.ts';
import { chooseMediaType } from '../http/accept.ts';
import {
  type BodyLimits,
  checkContentEncoding,
  checkContentType,
  continueBody,
  decodeJsonBody,
  readBody,
} from '../http/body.ts';
import { assertDemanded } from '../http/conditional.ts';
import type { Call, Method, Reply, Route } from '../http/endpoint.ts';
import { setCaching } from '../http/headers.ts';
import { methodNotAllowed, unknownUrl } from '../http/http-problem.ts';
import { nameRoute } from '../http/observe-requests.ts';
import { idOf } from '../http/request-log.ts';
import { askedUpload } from '../http/tus-requests.ts';
import { INDEX_HEADER, type WaitForIndex, wantsIndex } from '../http/wait-for-index.ts';
import type { ExecuteOnce } from '../idempotency/execute-once.ts';
import { creationKey, keyedRequest } from '../idempotency/idempotency-key.ts';
import { withEndedLink } from '../identity/resolve-link.ts';
import { type Admission, loadOf, type Place } from '../overload/admission.ts';
import type { PaceBodies } from '../overload/pace-bodies.ts';
import { type RateLimits, weightOf } from '../rate-limits/rate-limits.ts';
import { renderJson, sendRendered } from '../rendering/rendered.ts';
import { isEntityPath, type ResponseCache } from '../response-cache/response-cache.ts';
import { keepAnswer, sendKept, sendReply } from './reply.ts';

export interface ServeRouteDeps {
  authenticate: Authenticate;
  baseUrlOf: (request: Request) => string;
  bodyLimits: BodyLimits;
  answers: ResponseCache;
  executeOnce: ExecuteOnce;
  rateLimits: RateLimits;
  waitForIndex: WaitForIndex;
  admission: Admission;
  paceBodies: PaceBodies;
  /** Called when a client reads a file too slowly. */
  slowReading: SlowReading;
}

/**
 * One row of the route table as an Express handler. The order of the checks is part of the interface: room for the
 * request, credentials, Accept, Content-Type, query, body, room again, and then the endpoint.
 */
function serveRoute(route: Route, deps: ServeRouteDeps): RequestHandler {
  const serve = serveAdmitted(route, deps);
  const load = loadOf(route);
  return async (request, response) => {
    nameRoute(response, route.method, route.path);
    const isDownload = request.method === 'GET' || request.method === 'HEAD';
    const place = deps.admission.enter(load, { isDownload: load === 'transfer' && isDownload });
    try {
      await serve(request, response, place);
    } catch (error) {
      throw response.locals['hasEndedLink'] === true ? withEndedLink(error) : error;
    } finally {
      place.leave();
    }
  };
}

/** Credentials of a request whose body took longer are checked again. */
const RECHECK_AFTER_MS = 1_000;

function serveAdmitted(route: Route, deps: ServeRouteDeps) {
  return async (request: Request, response: Response, place: Place): Promise<void> => {
    const signal = abortOnDisconnect(request, response);
    const params = pathParams(request);
    const query = queryOf(request.originalUrl);
    const baseUrl = deps.baseUrlOf(request);

    const { authorization } = request.headers;
    const credentials = { authorization, query };
    const { principal, hasEndedLink } = await deps.rateLimits.tryCredentials(
      { request, response, credentials },
      () => deps.authenticate(credentials, idOf(response), signal),
    );
    const { method } = request;
    const weight = weightOf(route, { isKnown: hasCredentials(principal) });
    const counted = { userId: principal.userId, weight };
    deps.rateLimits.count(request, response, counted);
    response.locals['hasEndedLink'] = hasEndedLink;
    if (route.auth === 'token') requireCredentials(principal);
    const caller = deps.rateLimits.callerOf(request, principal.userId);
    place.assign({ key: caller, isAnonymous: principal.userId === null });
    setCaching(response, { hasUser: principal.userId !== null, hasLink: principal.grants.length > 0 });

    const mediaType = chooseMediaType(request.headers.accept, route.gives);
    checkContentType(request.headers['content-type'], route.takes);
    if (route.takes !== '-') checkContentEncoding(request.headers['content-encoding']);

    const call: Call = {
      params,
      query,
      path: request.path,
      headers: request.headers,
      method,
      body: undefined,
      rawBody: Buffer.alloc(0),
      bytes: request,
      creationKey: Buffer.alloc(0),
      mediaType,
      principal,
      authenticateAgain: async () => {
        const again = await deps.authenticate(credentials, idOf(response), signal);
        if (route.auth === 'token') requireCredentials(again.principal);
        return again.principal;
      },
      caller,
      addCost: deps.rateLimits.timeCost(request, response, counted),
      peer: request.socket.remoteAddress,
      baseUrl,
      signal,
    };
    const isAwaited = wantsIndex(route, query);
    const awaitIndex = async (status: number): Promise<void> => {
      if (!isAwaited || status >= 300) return;
      // A waiting request uses no service.
      place.leave();
      response.setHeader(INDEX_HEADER, await deps.waitForIndex(route, call));
    };
    // An ignored body is still part of the idempotency key's request.
    const isKeyed = route.method === 'POST' && request.headers['idempotency-key'] !== undefined;
    if (route.takes === 'json' || (route.takes === '-' && isKeyed)) {
      // A body that arrives slowly uses no service either.
      place.leave();
      continueBody(request, response);
      const begun = performance.now();
      call.rawBody = await readBody(request, { ...deps.bodyLimits, hold: place.holdBody });
      await deps.paceBodies(caller, call.rawBody.length, signal);
      place.enterAgain();
      if (performance.now() - begun > RECHECK_AFTER_MS) {
        // The credentials may have been revoked while the body arrived.
        call.principal = await call.authenticateAgain();
      }
    } else if (route.takes !== '-') {
      continueBody(request, response);
    }
    if (route.takes === 'json') call.body = decodeJsonBody(call.rawBody);
    if (route.method === 'POST') {
      const body = route.takes === 'chunk' ? askedUpload(request.headers) : call.rawBody;
      const keyed = keyedRequest(request.headers, { ...call, body });
      if (keyed !== undefined) {
        call.creationKey = creationKey(keyed);
        const execute = () => answer(route, call, deps.answers);
        const kept = () => keepAnswer(execute, call, { mediaType, requestId: idOf(response) });
        const once = await deps.executeOnce(keyed, kept);
        await awaitIndex(once.answer.status);
        sendKept(response, once);
        return;
      }
    }
    const keep = deps.answers.beginRead();
    const reply = await answer(route, call, deps.answers);
    await awaitIndex(reply.status);
    if (reply.as !== 'json') {
      await sendReply(response, reply, call, deps.slowReading);
      return;
    }
    if (route.method === 'GET' && reply.state !== undefined)
      assertDemanded(request.headers['if-match'], reply.state.revision);
    const rendered = renderJson(reply, call, mediaType);
    if (reply.publicOf !== undefined && authorization === undefined && isEntityPath(request.originalUrl))
      keep({ path: request.originalUrl, mediaType, baseUrl }, reply.publicOf, rendered);
    sendRendered(response, rendered, call);
  };
}

/** The client of an answered change expects to see it: no older answer is served here from then on. */
async function answer(route: Route, call: Call, answers: ResponseCache): Promise<Reply> {
  if (!mayChangePublished(route)) return route.endpoint(call);
  try {
    return await route.endpoint(call);
  } finally {
    // Also after a failure: a lost answer does not show what took effect.
    answers.forgetAll();
  }
}

/** Changes of drafts do not change published documents; all other changes might. */
function mayChangePublished({ method, path }: Route): boolean {
  if (method === 'GET') return false;
  return path.endsWith('/actions/publish') || (path.includes('/:id') && !path.includes('/draft'));
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

/** The route table as a router; a path of the table answers OPTIONS, and 405 to methods that it lacks. */
export function mountRoutes(routes: readonly Route[], deps: ServeRouteDeps): Router {
  const router = Router({ strict: true, caseSensitive: true });
  for (const [path, rows] of Map.groupBy(routes, (route) => route.path)) {
    const allowed = allowedMethods(rows.map(({ method }) => method));
    const at = router.route(path);
    at.options((_request, response, next) => {
      response.setHeader('allow', allowed.join(', '));
      next();
    });
    for (const row of rows) at[EXPRESS_METHOD[row.method]](serveRoute(row, deps));
    at.options((_request, response) => {
      response.writeHead(200, { 'content-length': 0 }).end();
    });
    at.all(() => {
      throw methodNotAllowed(allowed);
    });
  }
  return router;
}

const EXPRESS_METHOD = {
  OPTIONS: 'options',
  HEAD: 'head',
  GET: 'get',
  POST: 'post',
  PUT: 'put',
  PATCH: 'patch',
  DELETE: 'delete',
} as const satisfies Record<Method, string>;

function allowedMethods(methods: readonly Method[]): string[] {
  return [...new Set(['OPTIONS', ...(methods.includes('GET') ? ['HEAD'] : []), ...methods])];
}
