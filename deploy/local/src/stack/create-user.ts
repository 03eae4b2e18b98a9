import { servicePrincipal } from '@kr/caller';
import { definitions } from '@kr/contracts';
import { createClient } from '@kr/rpc';
import type { AdminEndpoint } from './admin-endpoint.ts';

export interface CreatedUser {
  name: string;
  token: string;
}

/** Makes a user with a personal access token that does not expire; a user who exists gets a further token. */
export async function createUser(
  gateway: AdminEndpoint,
  name: string,
  { admin = false }: { admin?: boolean } = {},
): Promise<CreatedUser> {
  const client = createClient(definitions.identity, { ...gateway, audience: 'gateway', caller: 'operator' });
  try {
    const created = await client.createUser(
      { name, isAdmin: admin, addsToken: true, tokenLifetimeMs: 0 },
      servicePrincipal('local-stack'),
      { timeoutMs: 10_000 },
    );
    return { name: created.name, token: created.token };
  } finally {
    client.close();
  }
}
