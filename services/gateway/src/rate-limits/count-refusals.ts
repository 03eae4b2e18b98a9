import type { ErrorRequestHandler } from 'express';
import { HttpProblem } from '../http/http-problem.ts';
import type { RateLimits } from './rate-limits.ts';

/** Counts for the address what was refused before anybody asked who calls: no such path or method, a bad shape. */
export function countRefusals(rateLimits: RateLimits): ErrorRequestHandler {
  return (thrown: unknown, request, response, next) => {
    // The router's word for a path that is not UTF-8.
    const isRefusal = thrown instanceof HttpProblem || thrown instanceof URIError;
    if (isRefusal && !rateLimits.isCounted(response)) {
      rateLimits.count(request, response, { userId: null, weight: 'one' });
    }
    next(thrown);
  };
}
