import type { Scope } from '@kr/caller';
import { ServiceError } from '@kr/service-error';
import type { Logger } from '@kr/telemetry';
import { isTokenShaped, tokenHash } from './access-token.ts';
import type { TokenStore } from './token-store.ts';

const HOUR_MS = 3_600_000;

/** The caller, and the scopes of the token beyond reading. */
export interface TokenOwner {
  userId: string;
  /** Only if the token has the scope. */
  isAdmin: boolean;
  scopes: readonly Scope[];
  /** Of a personal access token. */
  tokenId?: string;
}

export type FindTokenOwner = (token: string) => Promise<TokenOwner>;

/**
 * The user a personal access token belongs to. Every request reads the token's row, so a revoked token and a
 * disabled user are refused by all gateways once the change was answered. The last use is stored at most once an hour.
 *
 * @throws ServiceError `unauthenticated`
 *   - code `invalid_token`: malformed, unknown, expired or revoked
 *   - code `user_disabled`: an operator has disabled the user
 */
export function findTokenOwner(
  store: Pick<TokenStore, 'findToken' | 'markUsed'>,
  now: () => Date,
  logger: Pick<Logger, 'warn'>,
): FindTokenOwner {
  return async (token) => {
    if (!isTokenShaped(token)) throw invalidToken('The access token is malformed.');
    const row = await store.findToken(tokenHash(token));
    if (row === undefined) throw invalidToken('The access token is unknown.');
    if (row.revokedAt !== null) throw invalidToken('The access token has been revoked.');
    if (row.expiresAt !== null && row.expiresAt <= now()) throw invalidToken('The access token has expired.');
    if (row.userDisabledAt !== null) throw userDisabled();
    const hour = new Date(Math.floor(now().getTime() / HOUR_MS) * HOUR_MS);
    if (row.lastUsedAt === null || row.lastUsedAt < hour) {
      // The token is valid whether or not its use can be stored.
      store
        .markUsed(row.id, hour)
        .catch((err: unknown) => logger.warn({ err }, 'the use of a token was not stored'));
    }
    return {
      userId: String(row.user.id),
      isAdmin: row.user.isAdmin && row.scopes.includes('admin'),
      scopes: row.scopes,
      tokenId: row.id,
    };
  };
}

/** The credentials are invalid. */
export function invalidToken(message: string): ServiceError {
  return new ServiceError('unauthenticated', message, { code: 'invalid_token' });
}

/** The credentials are valid, but an operator has disabled the user. */
export function userDisabled(): ServiceError {
  return new ServiceError('unauthenticated', 'The user is disabled.', { code: 'user_disabled' });
}
