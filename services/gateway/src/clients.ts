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
export function openClients({ services }: Pick<GatewayConfig, 'services'>): Clients & { close(): void } {
  const { records, packages, files, accessLinks, search } = services;
  const clients: Clients = {
    lifecycle: {
      record: createClient(definitions.lifecycle, { ...records, audience: 'records', caller: 'gateway' }),
      package: createClient(definitions.lifecycle, { ...packages, audience: 'packages', caller: 'gateway' }),
    },
    packages: createClient(definitions.packages, { ...packages, audience: 'packages', caller: 'gateway' }),
    publications: createClient(definitions.publications, {
      ...packages,
      audience: 'packages',
      caller: 'gateway',
    }),
    files: createClient(definitions.files, { ...files, audience: 'files', caller: 'gateway' }),
    accessLinks: createClient(definitions.accessLinks, {
      ...accessLinks,
      audience: 'access-links',
      caller: 'gateway',
    }),
    search: createClient(definitions.search, { ...search, audience: 'search', caller: 'gateway' }),
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
