import { AsyncResource } from 'node:async_hooks';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { counter, durations, type Logger, nameRequest, observeGauges } from '@kr/telemetry';

/** Unknown methods are counted together. */
const METHODS = new Set(['OPTIONS', 'HEAD', 'GET', 'POST', 'PUT', 'PATCH', 'DELETE']);
const OTHER = 'other';

const routes = new WeakMap<ServerResponse, string>();

/** Sets the route that answers a request; requests without one are counted as `other`. */
export function nameRoute(response: ServerResponse, method: string, path: string): void {
  routes.set(response, path);
  nameRequest(method, path);
}

/** Times every request that reaches a listener, by its route and never by its address: there are few routes. */
export function observeRequests(listener: RequestListener): { listener: RequestListener; stop(): void } {
  const record = durations('gateway', {
    name: 'http_server_request_duration_seconds',
    description: 'Requests of the public interface, from their headers to the end of the answer.',
    of: 'answers',
  });
  let active = 0;
  const gauges = observeGauges({
    meter: 'gateway',
    gauges: {
      active: { name: 'http_server_requests_active', description: 'Requests that are being answered.' },
    },
    read: () => [{ of: 'active', value: active }],
  });
  return {
    stop: gauges.stop,
    listener: (request, response) => {
      const started = performance.now();
      const { method = '' } = request;
      active += 1;
      response.once('close', () => {
        active -= 1;
        record((performance.now() - started) / 1_000, {
          method: METHODS.has(method) ? method : OTHER,
          route: routes.get(response) ?? OTHER,
          status: response.writableFinished ? String(response.statusCode) : 'aborted',
        });
      });
      listener(request, response);
    },
  };
}

/** Counts the downloads that were ended because too little of them was read. */
export function countSlowReaders(): () => void {
  return counter(
    '@kr/gateway',
    {
      name: 'http_server_slow_readers',
      description: 'Downloads aborted because the client read too slowly.',
    },
    [{}],
  );
}

const REQUEST_ID = 'x-request-id';
const ACCEPTABLE = /^[\w.-]{8,64}$/;

/** Sets the id of each request, the client's if it is valid, and returns it in the answer. */
export function identify(request: IncomingMessage, response: ServerResponse, newId: () => string): void {
  const clientId = request.headers[REQUEST_ID];
  response.setHeader(
    REQUEST_ID,
    typeof clientId === 'string' && ACCEPTABLE.test(clientId) ? clientId : newId(),
  );
}

/** The id of the request that this response answers. */
export function idOf(response: ServerResponse): string {
  return String(response.getHeader(REQUEST_ID));
}

const SECRET_PARAMETERS = new Set(['token', 'access_token']);

/** One line per request, when it is answered or aborted. Tokens in the URL are removed. */
export function logWhenClosed(logger: Logger, request: IncomingMessage, response: ServerResponse): void {
  if (!logger.isLevelEnabled('info')) return;
  const started = performance.now();
  const url = request.url ?? '';
  // The end of a connection belongs to no trace, or to another.
  const inTrace = AsyncResource.bind(() => {
    logger.info(
      {
        request_id: idOf(response),
        method: request.method,
        url: withoutTokens(url),
        status: response.statusCode,
        duration_ms: Math.round((performance.now() - started) * 10) / 10,
        ...(response.writableFinished ? {} : { is_aborted: true }),
      },
      'request',
    );
  });
  response.once('close', inTrace);
}

/** The address with the values of secret parameters left out, however their names are escaped. */
export function withoutTokens(url: string): string {
  const start = url.indexOf('?');
  if (start === -1) return url;
  const parts = url.slice(start + 1).split('&');
  const logged = parts.map((part) => {
    const [name = ''] = new URLSearchParams(part).keys();
    return SECRET_PARAMETERS.has(name) ? `${name}=…` : part;
  });
  return `${url.slice(0, start)}?${logged.join('&')}`;
}
