import type { IncomingMessage, Server, ServerResponse } from 'node:http';

/** Takes no new connection, lets each one end with the answer under way, and cuts what is left after `graceMs`. */
export type Drain = (graceMs: number) => Promise<void>;

/**
 * Watches the responses of a server that has its listeners and is not listening yet. Without `Connection: close`, clients continue to send on
 * their keep-alive connections until these are cut in the middle of a request.
 */
export function openDrain(server: Server): Drain {
  const answering = new Set<ServerResponse>();
  let isEnding = false;
  const watch = (_request: IncomingMessage, response: ServerResponse): void => {
    answering.add(response);
    response.once('close', () => answering.delete(response));
    if (isEnding) makeLast(response);
  };
  // NOTE: a listener of `checkContinue` takes over such requests, so add one only if the server has one.
  for (const event of ['request', 'checkContinue'] as const)
    if (server.listenerCount(event) > 0) server.prependListener(event, watch);
  return (graceMs) => {
    isEnding = true;
    for (const response of answering) makeLast(response);
    return new Promise((resolve) => {
      const timer = setTimeout(() => server.closeAllConnections(), graceMs);
      server.close(() => {
        clearTimeout(timer);
        resolve();
      });
      server.closeIdleConnections();
    });
  };
}

function makeLast(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('connection', 'close');
}
