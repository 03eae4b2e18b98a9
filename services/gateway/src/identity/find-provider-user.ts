import { SCOPES } from '@kr/caller';
import { ServiceError } from '@kr/service-error';
import { errors, type JWTPayload, jwtVerify } from 'jose';
import type { OidcConfig } from '../config.ts';
import { invalidToken, type TokenOwner, userDisabled } from './find-token-owner.ts';
import { type ProviderKeys, ProviderUnavailableError } from './provider-keys.ts';
import type { UserStore } from './user-store.ts';

const CLOCK_SKEW_S = 30;
/** RFC 9068, section 2.1, and the value of older providers. */
const TYPES = new Set([undefined, 'at+jwt', 'application/at+jwt', 'jwt']);

export interface FindProviderUserDeps {
  config: OidcConfig;
  keys: Pick<ProviderKeys, 'find'>;
  users: Pick<UserStore, 'findOrAdd'>;
  now: () => Date;
}

/** Whether a bearer token could be one of an identity provider rather than one of ours. */
export function isJwtShaped(token: string): boolean {
  return /^[\w-]+\.[\w-]+\.[\w-]*$/.test(token);
}

/**
 * The user of an identity provider's access token (JWT, RFC 9068), created at the first request. The token is valid
 * for everything that the user may do. Every request reads the user's row, so a disabled user is refused by all gateways once
 * the change was answered.
 *
 * @throws ServiceError
 *   - `unauthenticated` (code `invalid_token`): not signed by the provider, for another service, or not at this time
 *   - `unauthenticated` (code `user_disabled`): an operator has disabled the user
 *   - `unavailable`: the provider's keys are not cached yet, and it does not answer
 */
export function findProviderUser({ config, keys, users, now }: FindProviderUserDeps) {
  return async (token: string): Promise<TokenOwner> => {
    const at = now();
    const claims = await verified(token, { config, keys, at });
    const user = await users.findOrAdd({
      issuer: config.issuer,
      subject: claims.sub ?? '',
      name: nameIn(claims, config),
      at,
    });
    if (user.disabledAt !== null) throw userDisabled();
    const isAdmin = user.isAdmin || isAdminBy(claims, config);
    const scopes = SCOPES.filter((scope) => scope !== 'admin' || isAdmin);
    return { userId: String(user.id), isAdmin, scopes };
  };
}

interface Verifying {
  config: OidcConfig;
  keys: Pick<ProviderKeys, 'find'>;
  at: Date;
}

async function verified(token: string, { config, keys, at }: Verifying): Promise<JWTPayload> {
  const { issuer, audience, algorithms } = config;
  try {
    const { payload, protectedHeader } = await jwtVerify(token, keys.find, {
      issuer,
      audience,
      algorithms: [...algorithms],
      clockTolerance: CLOCK_SKEW_S,
      currentDate: at,
      requiredClaims: ['exp', 'sub'],
    });
    if (!TYPES.has(protectedHeader.typ?.toLowerCase()))
      throw invalidToken('The access token is of another type.');
    if ((payload.iat ?? 0) > at.getTime() / 1_000 + CLOCK_SKEW_S) {
      throw invalidToken('The access token is from the future.');
    }
    return payload;
  } catch (thrown) {
    throw refusal(thrown);
  }
}

function refusal(thrown: unknown): unknown {
  if (thrown instanceof ProviderUnavailableError) {
    return new ServiceError('unavailable', 'The identity provider does not answer.', {
      retryAfterMs: 30_000,
      cause: thrown,
    });
  }
  if (thrown instanceof errors.JWTExpired) return invalidToken('The access token has expired.');
  if (thrown instanceof errors.JWTClaimValidationFailed) {
    return invalidToken(`The access token is not valid here: ${thrown.claim}.`);
  }
  if (thrown instanceof errors.JOSEError) {
    return invalidToken('The access token is not one of the identity provider.');
  }
  return thrown;
}

function nameIn(claims: JWTPayload, { nameClaim }: OidcConfig): string {
  const name = claims[nameClaim];
  return typeof name === 'string' && name !== '' ? name : (claims.sub ?? '');
}

function isAdminBy(claims: JWTPayload, { rolesClaim, adminRole }: OidcConfig): boolean {
  const roles = claims[rolesClaim];
  return adminRole !== undefined && Array.isArray(roles) && roles.includes(adminRole);
}
