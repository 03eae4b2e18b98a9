import type { Logger } from '@kr/telemetry';
import type { RequestHandler } from 'express';
import { idOf } from './request-id.ts';

const SECRET_PARAMETER = /([?&](?:access_token|token)=)[^&#]*/gi;

/** One line for each request, when it is answered or given up. Tokens in the address are left out. */
export function requestLog(logger: Logger): RequestHandler {
  return (request, response, next) => {
    const started = performance.now();
    response.once('close', () => {
      logger.info(
        {
          request_id: idOf(response),
          method: request.method,
          url: withoutTokens(request.originalUrl),
          status: response.statusCode,
          duration_ms: Math.round((performance.now() - started) * 10) / 10,
          ...(response.writableFinished ? {} : { is_aborted: true }),
        },
        'request',
      );
    });
    next();
  };
}

export function withoutTokens(url: string): string {
  return url.replace(SECRET_PARAMETER, '$1…');
}
