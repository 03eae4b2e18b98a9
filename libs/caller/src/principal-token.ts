import { ServiceError } from '@kr/service-error';
import type { Principal } from './principal.ts';
import { openToken, signToken } from './signed-token.ts';

const PURPOSE = 'kr-principal-1';
const LIFETIME_MS = 30_000;
// Clocks of two hosts may differ by this much.
const CLOCK_SKEW_MS = 5_000;

interface PrincipalKey {
  /** The called service; other services reject the token. */
  audience: string;
  /** The secret that caller and callee share. */
  key: string;
  now?: () => Date;
}

interface Envelope {
  audience: string;
  issuedAt: number;
  principal: Principal;
}

/** A token that identifies the caller to one service, for 30 seconds. */
export function signPrincipal(
  principal: Principal,
  { audience, key, now = () => new Date() }: PrincipalKey,
): string {
  const { userId, isAdmin, scopes, tokenId, grants, service, requestId } = principal;
  const envelope: Envelope = {
    audience,
    issuedAt: now().getTime(),
    principal: {
      userId,
      isAdmin,
      scopes,
      ...(tokenId !== undefined && { tokenId }),
      grants,
      service,
      requestId,
    },
  };
  return signToken(PURPOSE, envelope, key);
}

/**
 * The principal of a token.
 *
 * @throws ServiceError `unauthenticated`: not signed with this key, meant for another service, or older than 30 s
 */
export function verifyPrincipal(
  token: string,
  { audience, key, now = () => new Date() }: PrincipalKey,
): Principal {
  // The signature vouches for the shape: only `signPrincipal` makes what it covers.
  const envelope = openToken(PURPOSE, token, key) as Envelope | undefined;
  if (envelope?.audience !== audience) throw new ServiceError('unauthenticated', 'The caller is unknown.');
  const ageMs = now().getTime() - envelope.issuedAt;
  if (ageMs > LIFETIME_MS || ageMs < -CLOCK_SKEW_MS) {
    throw new ServiceError('unauthenticated', 'The proof of the caller has expired.');
  }
  return envelope.principal;
}
