import type { IncomingMessage, Server, ServerResponse } from 'node:http';

const waiting = new WeakSet<IncomingMessage>();

/**
 * Requests with `Expect: 100-continue` (RFC 9110, section 10.1.1) are routed like all others; `100 Continue` is sent by
 * `continueBody`, once their body is wanted. If it never is, the connection ends with the answer.
 */
export function continueWhenWanted(server: Server): void {
  server.on('checkContinue', (request, response) => {
    waiting.add(request);
    response.shouldKeepAlive = false;
    server.emit('request', request, response);
  });
  // The application refuses it.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
}

/** Lets the client send the body of a request that was checked. */
export function continueBody(request: IncomingMessage, response: ServerResponse): void {
  if (!waiting.delete(request)) return;
  response.shouldKeepAlive = true;
  response.writeContinue();
}
