import { type Definitions, definitions } from '@kr/contracts';
import { type Client, createClient } from '@kr/rpc';
import type { GatewayConfig } from './config.ts';
import type { Kind } from './kind.ts';

/** The services behind the gateway. */
export interface Clients {
  /** The life of entities, each kind at the service that owns it. */
  lifecycle: Record<Kind, Client<Definitions['lifecycle']>>;
  packages: Client<Definitions['packages']>;
  publications: Client<Definitions['publications']>;
  files: Client<Definitions['files']>;
  accessLinks: Client<Definitions['accessLinks']>;
  search: Client<Definitions['search']>;
}

/** Connections are made with the first call, so services may start in any order. */
export function openClients({
  services,
  rpcDeadlineMs,
}: Pick<GatewayConfig, 'services' | 'rpcDeadlineMs'>): Clients & { close(): void } {
  const ours = { caller: 'gateway', defaultTimeoutMs: rpcDeadlineMs };
  const records = { ...services.records, audience: 'records', ...ours };
  const packages = { ...services.packages, audience: 'packages', ...ours };
  const clients: Clients = {
    lifecycle: {
      record: createClient(definitions.lifecycle, records),
      package: createClient(definitions.lifecycle, packages),
    },
    packages: createClient(definitions.packages, packages),
    publications: createClient(definitions.publications, packages),
    files: createClient(definitions.files, { ...services.files, audience: 'files', ...ours }),
    accessLinks: createClient(definitions.accessLinks, {
      ...services.accessLinks,
      audience: 'access-links',
      ...ours,
    }),
    search: createClient(definitions.search, { ...services.search, audience: 'search', ...ours }),
  };
  const { lifecycle, ...others } = clients;
  const all = [...Object.values(lifecycle), ...Object.values(others)];
  return {
    ...clients,
    close: () => {
      for (const client of all) client.close();
    },
  };
}
