import type { IncomingMessage } from 'node:http';
import proxyAddr from 'proxy-addr';
import { HttpProblem } from './http-problem.ts';

interface BaseUrlOptions {
  publicBaseUrl: URL | undefined;
  trustedProxies: readonly string[];
}

/** A name or an address, perhaps with a port. */
export const HOST = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;

/**
 * What the links of an answer start with: the configured URL; else what the nearest client of a trusted proxy asked
 * for (`X-Forwarded-Proto` and `-Host`); else what this request asked for.
 */
export function baseUrlOf({
  publicBaseUrl,
  trustedProxies,
}: BaseUrlOptions): (request: IncomingMessage) => string {
  if (publicBaseUrl !== undefined) {
    const fixed = publicBaseUrl.href.replace(/\/+$/, '');
    return () => fixed;
  }
  const isTrusted = proxyAddr.compile([...trustedProxies]);
  return (request) => {
    const peer = request.socket.remoteAddress;
    const asked = peer !== undefined && isTrusted(peer, 0) ? forwarded(request) : {};
    const host = asked.host ?? request.headers.host ?? '';
    const scheme = asked.scheme?.toLowerCase() === 'https' ? 'https' : 'http';
    // A host that is no host would turn up in every link.
    if (!HOST.test(host)) throw new HttpProblem(400, "Invalid 'Host' header.");
    return `${scheme}://${host}`;
  };
}

interface Asked {
  scheme?: string | undefined;
  host?: string | undefined;
}

function forwarded(request: IncomingMessage): Asked {
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
