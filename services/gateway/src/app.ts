import type { IncomingMessage } from 'node:http';
import type { SlowReading } from '@kr/byte-relay';
import type { Logger } from '@kr/telemetry';
import express, { type Express, type RequestHandler } from 'express';
import type { Authenticate } from './caller.ts';
import type { GatewayConfig } from './config.ts';
import type { Route } from './http/endpoint.ts';
import { errorResponse } from './http/error-response.ts';
import type { CrossOrigin } from './http/headers.ts';
import { securityHeaders } from './http/headers.ts';
import { unknownUrl } from './http/http-problem.ts';
import { requestId, requestLog } from './http/request-log.ts';
import { requestShape } from './http/request-shape.ts';
import { tusRefusals, tusRequests } from './http/tus-requests.ts';
import type { WaitForIndex } from './http/wait-for-index.ts';
import type { ExecuteOnce } from './idempotency/execute-once.ts';
import type { Admission } from './overload/admission.ts';
import type { PaceBodies } from './overload/pace-bodies.ts';
import { mountRoutes } from './pipeline/serve-route.ts';
import type { RateLimits } from './rate-limits/rate-limits.ts';
import { countRefusals } from './rate-limits/rate-limits.ts';
import type { ResponseCache } from './response-cache/response-cache.ts';

export interface AppDeps {
  config: Pick<GatewayConfig, 'limits'>;
  baseUrlOf: (request: IncomingMessage) => string;
  routes: readonly Route[];
  authenticate: Authenticate;
  logger: Logger;
  newId: () => string;
  answers: ResponseCache;
  executeOnce: ExecuteOnce;
  rateLimits: RateLimits;
  crossOrigin: CrossOrigin;
  waitForIndex: WaitForIndex;
  admission: Admission;
  paceBodies: PaceBodies;
  slowReading: SlowReading;
  /** Forwards requests for pages; undefined: there are none. */
  pages: RequestHandler | undefined;
}

/** The public interface as an Express application. Requests pass from top to bottom. */
export function buildApp({
  config,
  baseUrlOf,
  routes,
  authenticate,
  logger,
  newId,
  answers,
  executeOnce,
  rateLimits,
  crossOrigin,
  waitForIndex,
  admission,
  paceBodies,
  slowReading,
  pages,
}: AppDeps): Express {
  const app = express();
  app.disable('x-powered-by');
  // ETags are revisions here, and queries are read by the routes themselves.
  app.disable('etag');
  app.set('query parser', false);
  app.enable('strict routing');
  app.enable('case sensitive routing');

  app.use(requestId(newId));
  app.use(requestLog(logger));
  app.use(securityHeaders());
  app.use(crossOrigin);
  app.use(requestShape(config.limits));
  app.use(tusRequests());
  if (pages !== undefined) app.use(pages);
  app.use(
    mountRoutes(routes, {
      authenticate,
      baseUrlOf,
      answers,
      executeOnce,
      rateLimits,
      waitForIndex,
      admission,
      paceBodies,
      slowReading,
      bodyLimits: { maxBytes: config.limits.bodyMaxBytes, timeoutMs: config.limits.bodyTimeoutMs },
    }),
  );
  app.use(() => {
    throw unknownUrl();
  });
  app.use(countRefusals(rateLimits));
  app.use(tusRefusals());
  app.use(errorResponse(logger));
  return app;
}
