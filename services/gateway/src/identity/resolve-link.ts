import { type LinkGrant, servicePrincipal } from '@kr/caller';
import type { LinkGrant__Output } from '@kr/contracts';
import { ServiceError } from '@kr/service-error';
import type { Clients } from '../clients.ts';

/** What the token of an access link opens. */
export interface ResolvedLink {
  /** Undefined: nothing. */
  grant: LinkGrant | undefined;
  /** Whether the link has expired or was revoked. */
  hasEnded: boolean;
}

export type ResolveLink = (token: string, requestId: string, signal: AbortSignal) => Promise<ResolvedLink>;

/** Every request asks the access-links service: links are rare, and changes hold at once. */
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

/** A refusal that also says that the caller's access link has ended; other failures as they are. */
export function withEndedLink(thrown: unknown): unknown {
  const error = ServiceError.from(thrown);
  if (error.kind !== 'unauthenticated' && error.kind !== 'forbidden') return thrown;
  return new ServiceError(error.kind, error.message, {
    ...error,
    code: 'access_link_expired',
    members: { hint: 'The access link has expired or was revoked. Ask its owner for a new one.' },
    cause: thrown,
  });
}

function toGrant({ linkId, parentId, permission }: LinkGrant__Output): LinkGrant | undefined {
  if (permission !== 'view' && permission !== 'preview' && permission !== 'edit') return undefined;
  return { linkId, parentId, permission };
}
