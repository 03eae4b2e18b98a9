import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import type { HttpLimits } from '../config.ts';
import { HOST } from './base-url.ts';
import { HttpProblem } from './http-problem.ts';

const CLOSE = { connection: 'close' };

/**
 * Refuses requests whose target or headers are beyond the limits, or that name no host, before anything looks at
 * them; and ends their connection.
 */
export function requestShape(limits: Pick<HttpLimits, 'urlMaxBytes' | 'headerMaxCount'>): RequestHandler {
  return (request, _response, next) => {
    if (request.originalUrl.length > limits.urlMaxBytes) {
      throw new HttpProblem(414, `The request URL is longer than ${limits.urlMaxBytes} bytes.`, CLOSE);
    }
    if (request.rawHeaders.length / 2 > limits.headerMaxCount) {
      throw new HttpProblem(431, `The request has more than ${limits.headerMaxCount} headers.`, CLOSE);
    }
    if (request.httpVersionMajor > 1) throw new HttpProblem(505, 'Use HTTP/1.1.', CLOSE);
    const { expect } = request.headers;
    if (expect !== undefined && expect.toLowerCase() !== '100-continue')
      throw new HttpProblem(417, 'The only expectation is 100-continue.', CLOSE);
    if (isForNobody(request)) throw new HttpProblem(400, "Invalid 'Host' header.", CLOSE);
    next();
  };
}

/** Whether the host of a request is unknown: its header is invalid, or missing where the version of HTTP needs it. */
export function isForNobody({
  headers: { host },
  httpVersionMajor,
  httpVersionMinor,
}: IncomingMessage): boolean {
  if (httpVersionMajor !== 1) return true;
  // Of two headers the server makes one with a comma, see `service.ts`.
  return host === undefined ? httpVersionMinor > 0 : !HOST.test(host);
}

const ABSOLUTE_FORM = /^https?:\/\/([^/?#]*)([^#]*)/i;

/** Gives a request with an absolute target the path as its target, and the host of the target (RFC 9112, section 3.2.2). */
export function useAbsoluteTarget(request: IncomingMessage): void {
  const [matched, host, path = ''] = ABSOLUTE_FORM.exec(request.url ?? '') ?? [];
  if (matched === undefined) return;
  request.headers.host = host;
  request.url = path.startsWith('/') ? path : `/${path}`;
}
