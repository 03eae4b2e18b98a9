import { type LinkGrant, servicePrincipal } from '@kr/caller';
import type { LinkGrant__Output } from '@kr/contracts';
import { ServiceError } from '@kr/service-error';
import type { Clients } from '../clients.ts';

/** The permissions of an access link's token. */
export interface ResolvedLink {
  /** Undefined: nothing. */
  grant: LinkGrant | undefined;
  /** Whether the link has expired or was revoked. */
  hasEnded: boolean;
}

export type ResolveLink = (token: string, requestId: string, signal: AbortSignal) => Promise<ResolvedLink>;

/** Every request queries the access-links service: links are rare, and changes must hold at once. */
export function resolveLink({ accessLinks }: Pick<Clients, 'accessLinks'>): ResolveLink {
  return async (token, requestId, signal) => {
    const { grants, hasEnded } = await accessLinks.resolveTokens(
      { tokens: [token] },
      servicePrincipal('gateway', requestId),
      { signal },
    );
    return { grant: grants.map(toGrant).find((candidate) => candidate !== undefined), hasEnded };
  };
}

/** Adds to a refusal that the caller's access link has ended; other errors are unchanged. */
export function withEndedLink(thrown: unknown): unknown {
  const error = ServiceError.from(thrown);
  if (error.kind !== 'unauthenticated' && error.kind !== 'forbidden') return thrown;
  return new ServiceError(error.kind, error.message, {
    ...error,
    code: 'access_link_expired',
    members: { hint: 'The access link has expired or was revoked. Request a new one from its owner.' },
    cause: thrown,
  });
}

function toGrant({ linkId, parentId, permission }: LinkGrant__Output): LinkGrant | undefined {
  if (permission !== 'view' && permission !== 'preview' && permission !== 'edit') return undefined;
  return { linkId, parentId, permission };
}
