import { AsyncResource } from 'node:async_hooks';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from '@kr/telemetry';

const HEADER = 'x-request-id';
const ACCEPTABLE = /^[\w.-]{8,64}$/;

/** Sets the id of each request, the client's if it is valid, and returns it in the answer. */
export function identify(request: IncomingMessage, response: ServerResponse, newId: () => string): void {
  const given = request.headers[HEADER];
  response.setHeader(HEADER, typeof given === 'string' && ACCEPTABLE.test(given) ? given : newId());
}

/** The id of the request that this response answers. */
export function idOf(response: ServerResponse): string {
  return String(response.getHeader(HEADER));
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
  const shown = parts.map((part) => {
    const [name = ''] = new URLSearchParams(part).keys();
    return SECRET_PARAMETERS.has(name) ? `${name}=…` : part;
  });
  return `${url.slice(0, start)}?${shown.join('&')}`;
}
