import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestHandler } from 'express';

const HEADER = 'x-request-id';
const ACCEPTABLE = /^[\w.-]{8,64}$/;

/** Gives each request an id, the client's own where it is one, and tells it. */
export function requestId(newId: () => string): RequestHandler {
  return (request, response, next) => {
    giveId(request, response, newId);
    next();
  };
}

export function giveId(request: IncomingMessage, response: ServerResponse, newId: () => string): void {
  const given = request.headers[HEADER];
  response.setHeader(HEADER, typeof given === 'string' && ACCEPTABLE.test(given) ? given : newId());
}

/** The id of the request that this response answers. */
export function idOf(response: ServerResponse): string {
  return String(response.getHeader(HEADER));
}
