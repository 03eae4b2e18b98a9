import { servicePrincipal } from '@kr/caller';
import { definitions } from '@kr/contracts';
import { createClient } from '@kr/rpc';

/** How to reach the identity service of a running system. */
export interface IdentityAccess {
  address: string;
  key: string;
}

export interface CreatedUser {
  name: string;
  token: string;
}

/** Makes a user with a personal access token; a user who exists gets a further token. */
export async function createUser(
  identity: IdentityAccess,
  name: string,
  { admin = false }: { admin?: boolean } = {},
): Promise<CreatedUser> {
  const client = createClient(definitions.identity, { ...identity, audience: 'gateway' });
  try {
    const created = await client.createUser({ name, isAdmin: admin }, servicePrincipal('local-stack'), {
      timeoutMs: 10_000,
    });
    return { name: created.name, token: created.token };
  } finally {
    client.close();
  }
}
