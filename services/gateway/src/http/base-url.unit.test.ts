import type { IncomingMessage } from 'node:http';
import { describe, expect, test } from '@jest/globals';
import { baseUrlOf } from './request-shape.ts';

function request(headers: Record<string, string>, peer = '127.0.0.1'): IncomingMessage {
  // Only what the function reads.
  return {
    headers: { host: 'inner:8080', ...headers },
    socket: { remoteAddress: peer },
  } as unknown as IncomingMessage;
}

const forwarded = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'hub.example.org' };

describe('base URL', () => {
  test.each<{ name: string; proxies?: string[]; fixed?: string; incoming: IncomingMessage; base: string }>([
    { name: 'is the host of the request', incoming: request({}), base: 'http://inner:8080' },
    { name: 'may be an IPv6 address', incoming: request({ host: '[::1]:8080' }), base: 'http://[::1]:8080' },
    {
      name: 'is the configured one for every request',
      fixed: 'https://hub.example.org/repository/',
      incoming: request({ host: 'x' }),
      base: 'https://hub.example.org/repository',
    },
    {
      name: 'follows a trusted proxy',
      proxies: ['loopback'],
      incoming: request(forwarded),
      base: 'https://hub.example.org',
    },
    {
      name: 'follows the proxy nearest to the client',
      proxies: ['10.0.0.0/8'],
      incoming: request(
        { 'x-forwarded-proto': 'https, http', 'x-forwarded-host': 'a.org, b.org' },
        '10.1.2.3',
      ),
      base: 'https://a.org',
    },
    { name: 'ignores headers of untrusted peers', incoming: request(forwarded), base: 'http://inner:8080' },
    {
      name: 'believes no stranger beside a trusted proxy',
      proxies: ['10.0.0.0/8'],
      incoming: request(forwarded, '192.0.2.1'),
      base: 'http://inner:8080',
    },
    {
      name: 'knows two schemes',
      proxies: ['loopback'],
      incoming: request({ 'x-forwarded-proto': 'javascript' }),
      base: 'http://inner:8080',
    },
  ])('$name', ({ proxies = [], fixed, incoming, base }) => {
    const publicBaseUrl = fixed === undefined ? undefined : new URL(fixed);
    expect(baseUrlOf({ publicBaseUrl, trustedProxies: proxies })(incoming)).toBe(base);
  });

  test.each(['evil"><script>', 'a b', 'a/b', ''])('a host that is none is refused: %s', (host) => {
    expect(() => baseUrlOf({ publicBaseUrl: undefined, trustedProxies: [] })(request({ host }))).toThrow(
      "Invalid 'Host' header.",
    );
  });
});
