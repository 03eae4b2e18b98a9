import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import proxyAddr from 'proxy-addr';

/** Some proxies add the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
const WITH_PORT = /^(?:(\d+\.\d+\.\d+\.\d+)|\[([^\]]+)\])(?::\d+)?$/;

/**
 * The address that a request comes from: of the connection, or where that is a trusted proxy, what it says in
 * `X-Forwarded-For`, and so on. Of an IPv6 address the network (its first 64 bits), for whoever has one address of it
 * usually has all.
 */
export function clientAddressOf(trustedProxies: readonly string[]): (request: IncomingMessage) => string {
  const isTrusted = proxyAddr.compile([...trustedProxies]);
  // The same few ask again and again, and to read an address takes longer than all else that is done with it.
  const known = new LRUCache<string, string>({ max: 1_000 });
  return (request) => {
    const peer = request.socket.remoteAddress ?? '';
    const said = trustedProxies.length === 0 ? peer : proxyAddr(request, isTrusted);
    const network = known.get(said) ?? networkOf(said);
    if (network === undefined) return networkOf(peer) ?? '';
    known.set(said, network);
    return network;
  };
}

/** Undefined: that is no address. */
function networkOf(text: string): string | undefined {
  const [, v4, v6] = WITH_PORT.exec(text) ?? [];
  const address = v4 ?? v6 ?? text;
  if (!ipaddr.isValid(address)) return undefined;
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  const network = parsed.parts.slice(0, 4).map((part) => part.toString(16));
  return `${network.join(':')}::/64`;
}
