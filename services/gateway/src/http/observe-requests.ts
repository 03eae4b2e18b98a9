import type { RequestListener, ServerResponse } from 'node:http';
import { counter, durations, nameRequest, observeGauges } from '@kr/telemetry';

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
      description: 'Downloads that were ended because their reader took too little.',
    },
    [{}],
  );
}
