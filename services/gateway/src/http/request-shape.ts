import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import type { HttpLimits } from '../config.ts';
import { trustedPeer } from './client-address.ts';
import { HttpProblem } from './http-problem.ts';

interface BaseUrlOptions {
  publicBaseUrl: URL | undefined;
  trustedProxies: readonly string[];
  webKey?: string | undefined;
}

/** A name or an address, perhaps with a port. */
const HOST = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;

/**
 * The base of links in an answer: the configured URL; else `X-Forwarded-Proto` and `-Host` from a trusted proxy; else the host of
 * this request.
 */
export function baseUrlOf({
  publicBaseUrl,
  trustedProxies,
  webKey,
}: BaseUrlOptions): (request: IncomingMessage) => string {
  if (publicBaseUrl !== undefined) {
    const fixed = publicBaseUrl.href.replace(/\/+$/, '');
    return () => fixed;
  }
  const isTrusted = trustedPeer(trustedProxies, webKey);
  return (request) => {
    const origin = isTrusted(request) ? forwarded(request) : {};
    const host = origin.host ?? request.headers.host ?? '';
    const scheme = origin.scheme?.toLowerCase() === 'https' ? 'https' : 'http';
    // A host that is no host would turn up in every link.
    if (!HOST.test(host)) throw new HttpProblem(400, "Invalid 'Host' header.");
    return `${scheme}://${host}`;
  };
}

interface ForwardedOrigin {
  scheme?: string | undefined;
  host?: string | undefined;
}

function forwarded(request: IncomingMessage): ForwardedOrigin {
  return {
    scheme: firstOf(request.headers['x-forwarded-proto']),
    host: firstOf(request.headers['x-forwarded-host']),
  };
}

function firstOf(header: string | string[] | undefined): string | undefined {
  const first = String(header ?? '')
    .split(',')[0]
    ?.trim();
  return first === '' ? undefined : first;
}

const CLOSE = { connection: 'close' };

/**
 * Refuses requests whose target or headers exceed the limits, or that have no host, before they are parsed further,
 * and closes their connection.
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
    if (hasInvalidHost(request)) throw new HttpProblem(400, "Invalid 'Host' header.", CLOSE);
    next();
  };
}

/** Whether the host of a request is unknown: its header is invalid, or missing where the version of HTTP needs it. */
export function hasInvalidHost({
  headers: { host },
  httpVersionMajor,
  httpVersionMinor,
}: IncomingMessage): boolean {
  if (httpVersionMajor !== 1) return true;
  // The server joins repeated headers with a comma (`pipeline/listen.ts`).
  return host === undefined ? httpVersionMinor > 0 : !HOST.test(host);
}

const ABSOLUTE_FORM = /^https?:\/\/([^/?#]*)([^#]*)/i;

/** Replaces an absolute target by its path, and the Host header by its host (RFC 9112, section 3.2.2). */
export function useAbsoluteTarget(request: IncomingMessage): void {
  const [matched, host, path = ''] = ABSOLUTE_FORM.exec(request.url ?? '') ?? [];
  if (matched === undefined) return;
  request.headers.host = host;
  request.url = path.startsWith('/') ? path : `/${path}`;
}
