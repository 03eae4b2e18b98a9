import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import type { HttpLimits } from '../config.ts';
import { HOST } from './base-url.ts';
import { HttpProblem } from './http-problem.ts';

const CLOSE = { connection: 'close' };

/**
 * Refuses requests whose target or headers are beyond the limits, or that name no host, before anything looks at
 * them; and ends their connection.
 */
export function requestShape(limits: Pick<HttpLimits, 'urlMaxBytes' | 'headerMaxCount'>): RequestHandler {
  return (request, _response, next) => {
    if (request.originalUrl.length > limits.urlMaxBytes) {
      throw new HttpProblem(414, `The request URL is longer than ${limits.urlMaxBytes} bytes.`, CLOSE);
    }
    if (request.rawHeaders.length / 2 > limits.headerMaxCount) {
      throw new HttpProblem(431, `The request has more than ${limits.headerMaxCount} headers.`, CLOSE);
    }
    if (isForNobody(request)) throw new HttpProblem(400, "Invalid 'Host' header.", CLOSE);
    next();
  };
}

/** Whether nobody can say which host a request is for: it names something else, or is of a version without hosts. */
export function isForNobody({ headers: { host }, httpVersionMajor }: IncomingMessage): boolean {
  // Of two headers the server makes one with a comma, see `service.ts`.
  return httpVersionMajor < 1 || (host !== undefined && !HOST.test(host));
}
