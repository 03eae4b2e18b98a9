import { type RequestHandler, Router } from 'express';
import { methodNotAllowed } from '../http/http-problem.ts';
import type { Method, Route } from '../http/route.ts';

/** Each path also answers OPTIONS; other methods return 405. */
export function routerOf(routes: readonly Route[], serve: (route: Route) => RequestHandler): Router {
  const router = Router({ strict: true, caseSensitive: true });
  for (const [path, rows] of Map.groupBy(routes, (route) => route.path)) {
    const allowed = allowedMethods(rows.map(({ method }) => method));
    const at = router.route(path);
    at.options((_request, response, next) => {
      response.setHeader('allow', allowed.join(', '));
      next();
    });
    for (const row of rows) at[EXPRESS_METHOD[row.method]](serve(row));
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
