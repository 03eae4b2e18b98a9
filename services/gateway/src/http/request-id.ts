import type { RequestHandler, Response } from 'express';

const HEADER = 'x-request-id';
const ACCEPTABLE = /^[\w.-]{8,64}$/;

/** Gives each request an id, the client's own where it is one, and tells it. */
export function requestId(newId: () => string): RequestHandler {
  return (request, response, next) => {
    const given = request.headers[HEADER];
    response.setHeader(HEADER, typeof given === 'string' && ACCEPTABLE.test(given) ? given : newId());
    next();
  };
}

/** The id of the request that this response answers. */
export function idOf(response: Response): string {
  return String(response.getHeader(HEADER));
}
