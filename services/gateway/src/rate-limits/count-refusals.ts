import type { ErrorRequestHandler } from 'express';
import { errorAnswer } from '../http/error-response.ts';
import { HttpProblem } from '../http/http-problem.ts';
import type { RateLimits } from './rate-limits.ts';

/**
 * Counts refused requests that cost nothing until then: those refused before authentication (no such path or method,
 * malformed) for the address, and refused chunks of uploads for their caller.
 */
export function countRefusals(rateLimits: Pick<RateLimits, 'count' | 'countedAs'>): ErrorRequestHandler {
  return (thrown: unknown, request, response, next) => {
    const counted = rateLimits.countedAs(response);
    if (counted === undefined) {
      // The router reports a path that is not UTF-8 as a URIError.
      const isRefusal = thrown instanceof HttpProblem || thrown instanceof URIError;
      if (isRefusal) rateLimits.count(request, response, { userId: null, weight: 'one' });
    } else if (counted.weight === 'nothing' && !response.headersSent && isCallersFault(thrown)) {
      rateLimits.count(request, response, { ...counted, weight: 'one' });
    }
    next(thrown);
  };
}

/** Overload (429) and failures of services are not. */
function isCallersFault(thrown: unknown): boolean {
  const { status } = errorAnswer(thrown);
  return status >= 400 && status < 500 && status !== 429;
}
