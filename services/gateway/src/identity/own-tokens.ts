import { authorise } from '@kr/access-policy';
import { ServiceError } from '@kr/service-error';
import { type Call, created, type Endpoint, json, noContent, param } from '../http/endpoint.ts';
import { mintToken, tokenHash } from './access-token.ts';
import { type OwnToken, TOKEN_ID, type TokenStore } from './token-store.ts';
import { tokenWish } from './token-wish.ts';

export interface TokensDeps {
  tokens: TokenStore;
  limits: { tokensPerUser: number; tokenLifetimeDays: number };
  now: () => Date;
  newId: () => string;
}

/** GET /api/user/tokens: the caller's tokens that were not revoked, the youngest first. */
export function listTokens({ tokens }: TokensDeps): Endpoint {
  return async (call) => {
    const own = await tokens.tokensOf(userOf(call));
    return json(200, {
      hits: { hits: own.map((token) => tokenJson(token, call)), total: own.length },
      links: { self: `${call.baseUrl}/api/user/tokens` },
    });
  };
}

/**
 * POST /api/user/tokens: 201 with the new token, which no other answer shows.
 *
 * @throws ServiceError
 *   - `invalid`: see `tokenWish`
 *   - `invalid` (code `too_many_tokens`): the caller has so many that were not revoked
 */
export function createToken({ tokens, limits, now, newId }: TokensDeps): Endpoint {
  return async (call) => {
    const userId = userOf(call);
    const createdAt = now();
    const { scopes } = call.principal;
    const wish = tokenWish(call.body, { now: createdAt, lifetimeDays: limits.tokenLifetimeDays, scopes });
    const token = mintToken();
    const row = { ...wish, id: newId(), hash: tokenHash(token), createdAt };
    if (!(await tokens.addToken(userId, row, limits.tokensPerUser))) {
      throw new ServiceError(
        'invalid',
        `A user may have at most ${limits.tokensPerUser} tokens; revoke one.`,
        {
          code: 'too_many_tokens',
        },
      );
    }
    return created({ ...tokenJson({ ...row, lastUsedAt: null }, call), token });
  };
}

/** DELETE /api/user/tokens/{tokenId}: 204; every later request on any gateway rejects the token. */
export function revokeToken({ tokens, now }: TokensDeps): Endpoint {
  return async (call) => {
    const [userId, id] = [userOf(call), param(call, 'tokenId')];
    if (!TOKEN_ID.test(id) || !(await tokens.revoke(userId, id, now()))) {
      throw new ServiceError('not_found', 'No such token.');
    }
    return noContent();
  };
}

/** @throws ServiceError `unauthenticated`, `forbidden`: nobody, or with a token that is not good for this */
function userOf({ principal }: Call): number {
  authorise(principal, 'manage_tokens', null);
  return Number(principal.userId);
}

function tokenJson({ id, name, scopes, createdAt, expiresAt, lastUsedAt }: OwnToken, { baseUrl }: Call) {
  return {
    id,
    name,
    scopes,
    created: createdAt.toISOString(),
    expires_at: expiresAt?.toISOString() ?? null,
    last_used: lastUsedAt?.toISOString() ?? null,
    links: { self: `${baseUrl}/api/user/tokens/${id}` },
  };
}
