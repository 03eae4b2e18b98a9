import type { RequestHandler } from 'express';
import type { HttpLimits } from '../config.ts';
import { HttpProblem } from './http-problem.ts';

/** Refuses requests whose target or headers are beyond the limits, before anything looks at them. */
export function requestShape(limits: Pick<HttpLimits, 'urlMaxBytes' | 'headerMaxCount'>): RequestHandler {
  return (request, _response, next) => {
    if (request.originalUrl.length > limits.urlMaxBytes) {
      throw new HttpProblem(414, `The request URL is longer than ${limits.urlMaxBytes} bytes.`);
    }
    if (request.rawHeaders.length / 2 > limits.headerMaxCount) {
      throw new HttpProblem(431, `The request has more than ${limits.headerMaxCount} headers.`);
    }
    next();
  };
}
