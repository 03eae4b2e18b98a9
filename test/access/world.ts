import type { TestSystem } from '@kr/testbed/system';
import { type HttpClient, httpClient } from '../e2e/story/http-client.ts';
import { publishedRecord } from '../e2e/story/stories.ts';
import { type Caller, NARROW_TOKENS, type TokenName, type UserName } from './callers.ts';
import type { Credentials } from './http.ts';
import { buildPlace, looseRecord, type Place, type PlaceWish } from './places.ts';

/** The people of one system, with their tokens. */
export interface World {
  owner: HttpClient;
  tokens: Readonly<Record<TokenName, string>>;
  /** Of a link that lets its holder edit an entity of somebody else's. */
  foreignLink: string;
  /** An unused token of the owner. */
  spareTokenId: string;
  /** A published resource of the owner's. */
  relatedId: string;
  build(wish: Omit<PlaceWish, 'relatedId'>): Promise<Place>;
  /** The credentials of a caller for an entity. */
  credentialsOf(caller: Caller, links: Place['links']): Credentials;
}

interface MadeToken {
  id: string;
  token: string;
}

const USERS: readonly UserName[] = ['owner', 'stranger', 'author', 'admin'];

export async function buildWorld(system: TestSystem): Promise<World> {
  const users = await Promise.all(
    USERS.map(async (name) => {
      const { token } = await system.createUser(`matrix-${name}`, { admin: name === 'admin' });
      return [name, token] as const;
    }),
  );
  const whole = Object.fromEntries(users) as Record<UserName, string>;
  const makeToken = (user: UserName, name: string, scopes: readonly string[]) =>
    httpClient(system.baseUrl, whole[user]).sure<MadeToken>('POST', '/user/tokens', {
      json: { name, scopes },
    });
  const narrow = await Promise.all(
    NARROW_TOKENS.map(
      async ({ name, user, scopes }) => [name, (await makeToken(user, name, scopes)).token] as const,
    ),
  );
  const tokens = { ...whole, ...Object.fromEntries(narrow) } as Record<TokenName, string>;
  const owner = httpClient(system.baseUrl, tokens.owner);
  const author = httpClient(system.baseUrl, tokens.author);
  await publishedRecord(author, 'Of another owner');
  const { id: foreignId } = await looseRecord(author);
  const { token: foreignLink } = await author.sure<MadeToken>('POST', `/records/${foreignId}/access/links`, {
    json: { permission: 'edit' },
  });
  const { id: relatedId } = await publishedRecord(owner, 'Related');
  return {
    owner,
    tokens,
    foreignLink,
    spareTokenId: (await makeToken('owner', 'spare', [])).id,
    relatedId,
    build: (wish) => buildPlace(owner, { ...wish, relatedId }),
    credentialsOf: ({ token, link }, links) => ({
      token: token === undefined ? undefined : tokens[token],
      link: link === undefined ? undefined : link === 'foreign' ? foreignLink : links[link],
    }),
  };
}
