import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import proxyAddr from 'proxy-addr';

/** The parts of a request, or of a rejected one, that identify its origin. */
export type Origin = Pick<IncomingMessage, 'headers' | 'socket'>;

/** Some proxies add the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
const WITH_PORT = /^(?:(\d+\.\d+\.\d+\.\d+)|\[([^\]]+)\])(?::\d+)?$/;

/**
 * The address of the client: of the connection, or, behind a trusted proxy, of `X-Forwarded-For`. An IPv6 address is reduced to
 * its network (the first 64 bits), because one client usually controls all of them.
 */
export function clientAddressOf(
  trustedProxies: readonly string[],
  webKey?: string,
): (request: Origin) => string {
  const isTrusted = proxyAddr.compile([...trustedProxies]);
  const isTrustedPeer = trustedPeer(trustedProxies, webKey);
  // Few clients send most requests, and parsing the address is expensive in comparison.
  const networks = new LRUCache<string, string>({ max: 1_000 });

  function clientOf(request: Origin, peer: string): string {
    if (!isTrustedPeer(request)) return peer;
    const forwardedFor = request.headers['x-forwarded-for'];
    if (forwardedFor === undefined) return peer;
    return farthest(String(forwardedFor).split(',').reverse().map(bare)) ?? peer;
  }

  function farthest(hops: readonly string[]): string | undefined {
    return hops.find((address, index) => !isTrusted(address, index + 1)) ?? hops.at(-1);
  }

  return (request) => {
    const peer = request.socket.remoteAddress ?? '';
    const client = clientOf(request, peer);
    const network = networks.get(client) ?? networkOf(client);
    if (network === undefined) return networkOf(peer) ?? '';
    networks.set(client, network);
    return network;
  };
}

/**
 * Whether the `X-Forwarded-…` headers of a request are trustworthy: it comes from a trusted proxy, or from the web service, which
 * proves itself with a key.
 */
export function trustedPeer(
  trustedProxies: readonly string[],
  webKey: string | undefined,
): (request: Origin) => boolean {
  const isTrusted = proxyAddr.compile([...trustedProxies]);
  const expected = webKey === undefined ? undefined : Buffer.from(webKey);
  return ({ headers, socket: { remoteAddress } }) => {
    const key = headers['x-web-key'];
    if (expected !== undefined && typeof key === 'string') {
      const presented = Buffer.from(key);
      if (presented.length === expected.length && timingSafeEqual(presented, expected)) return true;
    }
    return trustedProxies.length > 0 && remoteAddress !== undefined && isTrusted(remoteAddress, 0);
  };
}

function bare(text: string): string {
  const [, v4, v6] = WITH_PORT.exec(text.trim()) ?? [];
  return v4 ?? v6 ?? text.trim();
}

/** Undefined: that is no address. */
function networkOf(address: string): string | undefined {
  if (!ipaddr.isValid(address)) return undefined;
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  const network = parsed.parts.slice(0, 4).map((part) => part.toString(16));
  return `${network.join(':')}::/64`;
}
