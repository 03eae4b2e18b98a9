import proxyAddr from 'proxy-addr';
import type { GatewayConfig } from '../config.ts';
import type { Call } from '../http/endpoint.ts';
import type { ContentAnswer } from './content-plane.ts';

/** Has a front proxy send stored files by itself, once everything was decided about them (`X-Accel-Redirect`). */
export interface HandOver {
  /** What the files service is told of it; nothing where the request did not come by such a proxy. */
  offered(call: Call): Record<string, string>;
  /** The headers for the proxy, which names the file where the files service has named it. */
  headers(answer: ContentAnswer): ContentAnswer['headers'];
}

const STORED_PATH = 'kr-stored-path';
/** What the proxy says of itself in `X-Hand-Over`, with each request that it passes on. */
const WAY = 'x-accel-redirect';

export function handOverTo({
  handOver,
  trustedProxies,
}: Pick<GatewayConfig, 'handOver' | 'trustedProxies'>): HandOver {
  const isTrusted = proxyAddr.compile([...trustedProxies]);
  return {
    // Whoever comes past the proxy, from its own machine perhaps, would be told of a file and given none.
    offered: ({ peer, headers }) =>
      handOver !== undefined && peer !== undefined && isTrusted(peer, 0) && headers['x-hand-over'] === WAY
        ? { 'kr-hand-over': 'path' }
        : {},
    headers: ({ headers: { [STORED_PATH]: path, ...headers } }) =>
      handOver === undefined || typeof path !== 'string'
        ? headers
        : { ...headers, 'x-accel-redirect': handOver.location + path },
  };
}
