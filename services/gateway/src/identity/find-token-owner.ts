import type { Scope } from '@kr/caller';
import { ServiceError } from '@kr/service-error';
import type { Logger } from '@kr/telemetry';
import { LRUCache } from 'lru-cache';
import { isTokenShaped, tokenHash } from './access-token.ts';
import type { TokenRow, TokenStore } from './token-store.ts';

/** A revoked token works at most this much longer, in milliseconds. */
const REMEMBERED_MS = 900;

const HOUR_MS = 3_600_000;

/** Who calls, and what the caller's token is good for besides reading. */
export interface TokenOwner {
  userId: string;
  /** Only where the token is good for that. */
  isAdmin: boolean;
  scopes: readonly Scope[];
  /** Of a personal access token. */
  tokenId?: string;
}

export type FindTokenOwner = (token: string) => Promise<TokenOwner>;

/**
 * The user a personal access token belongs to, remembered for less than a second. That it was used is noted once in an
 * hour.
 *
 * @throws ServiceError `unauthenticated` (code `invalid_token`): malformed, unknown, expired or revoked
 */
export function findTokenOwner(
  store: Pick<TokenStore, 'findToken' | 'markUsed'>,
  now: () => Date,
  logger: Pick<Logger, 'warn'>,
): FindTokenOwner {
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
    const known = remembered.get(cacheKey);
    const row = known ?? (await ask(hash, cacheKey));
    if (row === undefined) throw invalidToken('The access token is unknown.');
    if (row.revokedAt !== null) throw invalidToken('The access token has been revoked.');
    if (row.expiresAt !== null && row.expiresAt <= now()) throw invalidToken('The access token has expired.');
    if (known === undefined) {
      remembered.set(cacheKey, row, { noUpdateTTL: true });
      const hour = new Date(Math.floor(now().getTime() / HOUR_MS) * HOUR_MS);
      if (row.lastUsedAt === null || row.lastUsedAt < hour) {
        // The token is good, whether that can be noted or not.
        store
          .markUsed(row.id, hour)
          .catch((err: unknown) => logger.warn({ err }, 'the use of a token was not noted'));
      }
    }
    return {
      userId: String(row.user.id),
      isAdmin: row.user.isAdmin && row.scopes.includes('admin'),
      scopes: row.scopes,
      tokenId: row.id,
    };
  };
}

/** Credentials were sent, but they are worth nothing. */
export function invalidToken(message: string): ServiceError {
  return new ServiceError('unauthenticated', message, { code: 'invalid_token' });
}
