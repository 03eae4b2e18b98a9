import { createServer, type Server } from 'node:http';
import { freePort } from '@kr/testbed';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import Provider from 'oidc-provider';

export const AUDIENCE = 'https://repository.example/api';

export interface IdentityProvider {
  issuer: string;
  /** How often its keys were fetched. */
  keyFetches: number;
  /** An access token that it issues to a client of this name, by the client credentials grant. */
  issue(client: string, options?: { audience?: string }): Promise<string>;
  /** Takes new keys, as a provider does whose keys were stolen. */
  rotate(): Promise<void>;
  stop(): Promise<void>;
  /** Listens where it did before. */
  restart(): Promise<void>;
}

/** The permitted names of a client, its user name, and its roles. */
export interface ProviderClient {
  userName?: string;
  roles?: readonly string[];
}

const SECRET = 'a secret of a client, long enough';

/** A real OpenID provider on this machine, which issues JWT access tokens. */
export async function startIdentityProvider(
  clients: Readonly<Record<string, ProviderClient>>,
): Promise<IdentityProvider> {
  const server = createServer();
  // Reserved, so that the port stays free while the provider is stopped.
  const port = await freePort();
  await listen(server, port);
  const issuer = `http://127.0.0.1:${port}`;
  let current = server;

  const answerWith = (keys: JWK[]) => {
    const handle = newProvider(issuer, clients, keys).callback();
    current.removeAllListeners('request');
    current.on('request', (request, response) => {
      if (request.url?.startsWith('/jwks')) self.keyFetches += 1;
      void handle(request, response);
    });
  };
  let keys = [await newKey('first')];
  const self: IdentityProvider = {
    issuer,
    keyFetches: 0,
    issue: async (client, { audience = AUDIENCE } = {}) => {
      const answer = await fetch(`${issuer}/token`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa(`${client}:${encodeURIComponent(SECRET)}`)}` },
        body: new URLSearchParams({ grant_type: 'client_credentials', resource: audience }),
      });
      const body = (await answer.json()) as { access_token?: string };
      if (body.access_token === undefined) throw new Error(JSON.stringify(body));
      return body.access_token;
    },
    rotate: async () => {
      keys = [await newKey(`key-${Math.random()}`)];
      answerWith(keys);
    },
    stop: async () => {
      current.closeAllConnections();
      await new Promise((resolve) => current.close(resolve));
    },
    restart: async () => {
      current = createServer();
      await listen(current, port);
      answerWith(keys);
    },
  };
  answerWith(keys);
  return self;
}

function newProvider(
  issuer: string,
  clients: Readonly<Record<string, ProviderClient>>,
  keys: JWK[],
): Provider {
  return new Provider(issuer, {
    clients: Object.keys(clients).map((id) => ({
      client_id: id,
      client_secret: SECRET,
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
    })),
    jwks: { keys },
    ttl: { ClientCredentials: 600 },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_context, audience) => ({
          scope: '',
          audience,
          accessTokenTTL: 600,
          accessTokenFormat: 'jwt',
        }),
      },
    },
    extraTokenClaims: (_context, token) => {
      const { userName, roles } = clients[token.clientId ?? ''] ?? {};
      return {
        ...(userName !== undefined && { preferred_username: userName }),
        ...(roles !== undefined && { roles }),
      };
    },
  });
}

async function newKey(kid: string): Promise<JWK> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  return { ...(await exportJWK(privateKey)), kid, alg: 'RS256', use: 'sig' };
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
}
