import { Router } from 'express';
import type { Method, Route } from './endpoint.ts';
import { methodNotAllowed } from './http-problem.ts';
import { type ServeRouteDeps, serveRoute } from './serve-route.ts';

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
