import type { LinkGrant, Principal } from '@kr/caller';
import { ServiceError } from '@kr/service-error';
import { isJwtShaped } from './identity/find-provider-user.ts';
import { type FindTokenOwner, invalidToken } from './identity/find-token-owner.ts';
import { type ResolveLink, withEndedLink } from './identity/resolve-link.ts';

export interface Credentials {
  authorization: string | undefined;
  query: URLSearchParams;
}

interface CallerDeps {
  findTokenOwner: FindTokenOwner;
  /** Undefined: no identity provider is configured. */
  findProviderUser: FindTokenOwner | undefined;
  resolveLink: ResolveLink;
}

export interface AuthenticatedCaller {
  principal: Principal;
  /** Whether the parameter `token` is no valid token of a link. */
  hasInvalidToken: boolean;
  /** Whether that is because the access link has expired or was revoked. */
  hasEndedLink: boolean;
}

export type Authenticate = (
  credentials: Credentials,
  requestId: string,
  signal: AbortSignal,
) => Promise<AuthenticatedCaller>;

/**
 * The principal of a request's credentials: a personal access token in the header or as `access_token`, an
 * identity provider's token in the header, and an access link's token in the header or as `token`. A link adds to the caller's other permissions.
 * @throws ServiceError `unauthenticated`: invalid credentials, except a `token` parameter, which then adds nothing
 */
export function authenticate({ findTokenOwner, findProviderUser, resolveLink }: CallerDeps): Authenticate {
  return async ({ authorization, query }, requestId, signal) => {
    const header = parseHeader(authorization);
    const bearer = header?.scheme === 'bearer' ? header.token : query.get('access_token');
    const findUser =
      findProviderUser !== undefined && header?.scheme === 'bearer' && isJwtShaped(header.token)
        ? findProviderUser
        : findTokenOwner;
    const user = bearer === null ? null : await findUser(bearer);

    const grants: LinkGrant[] = [];
    if (header?.scheme === 'accesslink') {
      const { grant, hasEnded } = await resolveLink(header.token, requestId, signal);
      if (grant === undefined) {
        const refusal = invalidToken('The access link is unknown, revoked or expired.');
        throw hasEnded ? withEndedLink(refusal) : refusal;
      }
      grants.push(grant);
    }
    const linkToken = query.get('token');
    let hasInvalidToken = false;
    let hasEndedLink = false;
    if (linkToken !== null && linkToken !== '') {
      const { grant, hasEnded } = await resolveLink(linkToken, requestId, signal);
      hasInvalidToken = grant === undefined;
      hasEndedLink = hasEnded;
      if (grant !== undefined) grants.push(grant);
    }
    const principal = {
      userId: user?.userId ?? null,
      isAdmin: user?.isAdmin ?? false,
      scopes: user?.scopes ?? [],
      ...(user?.tokenId !== undefined && { tokenId: user.tokenId }),
      grants,
      service: null,
      requestId,
    };
    return { principal, hasInvalidToken, hasEndedLink };
  };
}

/** Whether a request has a user or an access link. */
export function hasUserOrLink({ userId, grants }: Principal): boolean {
  return userId !== null || grants.length > 0;
}

/** @throws ServiceError `unauthenticated`: the credentials are unknown */
export function requireCredentials(principal: Principal): void {
  if (!hasUserOrLink(principal)) throw new ServiceError('unauthenticated', 'Authentication required.');
}

function parseHeader(
  authorization: string | undefined,
): { scheme: 'bearer' | 'accesslink'; token: string } | undefined {
  if (authorization === undefined || authorization.trim() === '') return undefined;
  const [name = '', token = '', ...rest] = authorization.trim().split(/\s+/);
  const scheme = name.toLowerCase();
  if (scheme !== 'bearer' && scheme !== 'accesslink') {
    throw invalidToken('The authentication scheme is unknown; use Bearer.');
  }
  if (token === '' || rest.length > 0) throw invalidToken('The access token is malformed.');
  return { scheme, token };
}
