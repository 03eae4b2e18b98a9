import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import type { HttpLimits } from '../config.ts';
import { HttpProblem } from './http-problem.ts';

const CLOSE = { connection: 'close' };

/**
 * Refuses requests whose target or headers are beyond the limits, or say of two hosts that they are meant, before anything
 * looks at them; and ends their connection.
 */
export function requestShape(limits: Pick<HttpLimits, 'urlMaxBytes' | 'headerMaxCount'>): RequestHandler {
  return (request, _response, next) => {
    if (request.originalUrl.length > limits.urlMaxBytes) {
      throw new HttpProblem(414, `The request URL is longer than ${limits.urlMaxBytes} bytes.`, CLOSE);
    }
    if (request.rawHeaders.length / 2 > limits.headerMaxCount) {
      throw new HttpProblem(431, `The request has more than ${limits.headerMaxCount} headers.`, CLOSE);
    }
    if (hasTwoHosts(request))
      throw new HttpProblem(400, "The request has more than one 'Host' header.", CLOSE);
    next();
  };
}

/** Duplicates are joined by the server, see `service.ts`. */
export function hasTwoHosts({ headers }: IncomingMessage): boolean {
  return headers.host?.includes(',') === true;
}
