import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Logger } from '@kr/telemetry';
import express, { type RequestHandler, Router } from 'express';
import type { HttpLimits } from '../config.ts';
import { errorResponse } from '../http/error-response.ts';
import { type CrossOrigin, setSecurityHeaders } from '../http/headers.ts';
import { methodNotAllowed, unknownUrl } from '../http/http-problem.ts';
import { nameRoute } from '../http/observe-requests.ts';
import { identify, logWhenClosed } from '../http/request-log.ts';
import { requestShape } from '../http/request-shape.ts';
import type { Method, Route } from '../http/route.ts';
import { tusRefusals, tusRequests } from '../http/tus-requests.ts';
import { withEndedLink } from '../identity/resolve-link.ts';
import { countRefusals } from '../rate-limits/rate-limits.ts';
import { serveFromCache } from '../response-cache/serve-from-cache.ts';
import {
  acquirePermit,
  answer,
  answerOnce,
  identifyCaller,
  keyOf,
  negotiate,
  receiveBody,
  type StepDeps,
} from './route-steps.ts';

export interface PipelineDeps extends StepDeps {
  routes: readonly Route[];
  limits: HttpLimits;
  logger: Logger;
  newId: () => string;
  crossOrigin: CrossOrigin;
  /** Forwards requests for pages; undefined: there are none. */
  pages: RequestHandler | undefined;
}

/** The public interface. The steps of a request are listed here in their order, which decides what a bad request is refused for. */
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
  application.use(routerOf(routes, deps));
  application.use(() => {
    throw unknownUrl();
  });
  application.use(countRefusals(rateLimits));
  application.use(tusRefusals());
  application.use(errorResponse(logger, vocabularies));

  return (request: IncomingMessage, response: ServerResponse) => {
    identify(request, response, newId);
    logWhenClosed(logger, request, response);
    setSecurityHeaders(response);
    crossOrigin(request, response, () => {
      if (!answerFromCache(request, response)) application(request, response);
    });
  };
}

/** The steps of a request that a route answers. */
function serveRoute(route: Route, deps: StepDeps): RequestHandler {
  return async (request, response) => {
    nameRoute(response, route.method, route.path);
    const permit = acquirePermit(route, request, deps);
    const exchange = { route, request, response, permit, deps };
    try {
      const call = await identifyCaller(exchange);
      negotiate(exchange, call);
      await receiveBody(exchange, call);
      const key = keyOf(exchange, call);
      await (key === undefined ? answer(exchange, call) : answerOnce(exchange, call, key));
    } catch (error) {
      throw response.locals['hasEndedLink'] === true ? withEndedLink(error) : error;
    } finally {
      permit.release();
    }
  };
}

/** A path of the routes answers OPTIONS, and 405 to methods that it lacks. */
function routerOf(routes: readonly Route[], deps: StepDeps): Router {
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

/** In the order of the header `Allow`. */
const EXPRESS_METHOD = {
  OPTIONS: 'options',
  HEAD: 'head',
  GET: 'get',
  PUT: 'put',
  PATCH: 'patch',
  POST: 'post',
  DELETE: 'delete',
} as const satisfies Record<Method, string>;

function allowedMethods(methods: readonly string[]): string[] {
  const allowed = new Set(['OPTIONS', ...(methods.includes('GET') ? ['HEAD'] : []), ...methods]);
  return Object.keys(EXPRESS_METHOD).filter((method) => allowed.has(method));
}
