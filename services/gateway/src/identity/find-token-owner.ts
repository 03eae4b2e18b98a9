import { ServiceError } from '@kr/service-error';
import { LRUCache } from 'lru-cache';
import { isTokenShaped, tokenHash } from './access-token.ts';
import type { TokenRow, User, UserStore } from './user-store.ts';

/** A revoked token works at most this much longer, in milliseconds. */
const REMEMBERED_MS = 900;

export type FindTokenOwner = (token: string) => Promise<User>;

/**
 * The user a personal access token belongs to, remembered for less than a second.
 *
 * @throws ServiceError `unauthenticated` (code `invalid_token`): malformed, unknown, expired or revoked
 */
export function findTokenOwner(store: Pick<UserStore, 'findToken'>, now: () => Date): FindTokenOwner {
  const remembered = new LRUCache<string, TokenRow>({ max: 10_000, ttl: REMEMBERED_MS });
  const asking = new Map<string, Promise<TokenRow | undefined>>();

  // One question for all requests that come with the same token meanwhile.
  function ask(hash: Uint8Array<ArrayBuffer>, cacheKey: string): Promise<TokenRow | undefined> {
    const running = asking.get(cacheKey);
    if (running !== undefined) return running;
    const answer = store.findToken(hash).finally(() => asking.delete(cacheKey));
    asking.set(cacheKey, answer);
    return answer;
  }

  return async (token) => {
    if (!isTokenShaped(token)) throw invalidToken('The access token is malformed.');
    const hash = tokenHash(token);
    const cacheKey = Buffer.from(hash).toString('base64');
    const row = remembered.get(cacheKey) ?? (await ask(hash, cacheKey));
    if (row === undefined) throw invalidToken('The access token is unknown.');
    if (row.revokedAt !== null) throw invalidToken('The access token has been revoked.');
    if (row.expiresAt !== null && row.expiresAt <= now()) throw invalidToken('The access token has expired.');
    remembered.set(cacheKey, row, { noUpdateTTL: true });
    return row.user;
  };
}

/** Credentials were sent, but they are worth nothing. */
export function invalidToken(message: string): ServiceError {
  return new ServiceError('unauthenticated', message, { code: 'invalid_token' });
}
