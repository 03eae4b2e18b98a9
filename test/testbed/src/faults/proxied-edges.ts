import type { ServiceName, ServiceVariables } from '@kr/local-stack';
import { type FaultLog, openFaultLog } from './fault-log.ts';
import { FaultProxy } from './fault-proxy.ts';

/** A target of a service's connections: a database, the bus, another service, or the content port of the files service. */
type Peer = ServiceName | 'postgres' | 'nats' | 'content';

/** A connection from a service to a peer. */
export type ProxiedEdge = `${ServiceName} to ${Peer}`;

export interface ProxiedEdges {
  readonly log: FaultLog;
  /** The environment of a service with its proxied connections led through their proxies. */
  environmentOf(service: ServiceName, environment: ServiceVariables): Promise<ServiceVariables>;
  proxy(edge: ProxiedEdge): FaultProxy;
  stop(): Promise<void>;
}

/** Starts one proxy for each of the edges as soon as it is known where the edge leads. */
export function openProxiedEdges(edges: readonly ProxiedEdge[]): ProxiedEdges {
  const log = openFaultLog();
  const proxies = new Map<ProxiedEdge, FaultProxy>();

  async function throughProxy(edge: ProxiedEdge, address: string): Promise<string> {
    const isUrl = address.includes('://');
    const proxy = await FaultProxy.start(isUrl ? new URL(address).host : address, { name: edge, log });
    proxies.set(edge, proxy);
    return isUrl ? proxy.urlThrough(address) : proxy.address;
  }

  return {
    log,
    async environmentOf(service, environment) {
      const changed: Record<string, string> = {};
      for (const edge of edges) {
        const [from, to] = edge.split(' to ');
        if (from !== service || to === undefined) continue;
        const variable = variableOf(to);
        const address = environment[variable];
        if (address === undefined) throw new Error(`there is no ${edge}: ${from} is not given ${variable}`);
        changed[variable] = await throughProxy(edge, address);
      }
      return { ...environment, ...changed };
    },
    proxy(edge) {
      const proxy = proxies.get(edge);
      if (proxy === undefined) throw new Error(`${edge} goes through no proxy`);
      return proxy;
    },
    async stop() {
      await Promise.all([...proxies.values()].map((proxy) => proxy.stop()));
    },
  };
}

/** The variable that names the peer's address in a service's environment. */
function variableOf(peer: string): string {
  if (peer === 'postgres') return 'DATABASE_URL';
  if (peer === 'nats') return 'NATS_URL';
  if (peer === 'content') return 'FILES_CONTENT_URL';
  return `${peer.toUpperCase().replaceAll('-', '_')}_ADDRESS`;
}
