import { type LinkGrant, servicePrincipal } from '@kr/caller';
import type { LinkGrant__Output } from '@kr/contracts';
import type { Clients } from '../clients.ts';

export type ResolveLink = (
  token: string,
  requestId: string,
  signal: AbortSignal,
) => Promise<LinkGrant | undefined>;

/** The grant of an access link's token. Every request asks the access-links service: links are rare, and changes hold at once. */
export function resolveLink({ accessLinks }: Pick<Clients, 'accessLinks'>): ResolveLink {
  return async (token, requestId, signal) => {
    const { grants } = await accessLinks.resolveTokens(
      { tokens: [token] },
      servicePrincipal('gateway', requestId),
      { signal },
    );
    return grants.map(toGrant).find((candidate) => candidate !== undefined);
  };
}

function toGrant({ linkId, parentId, permission }: LinkGrant__Output): LinkGrant | undefined {
  if (permission !== 'view' && permission !== 'preview' && permission !== 'edit') return undefined;
  return { linkId, parentId, permission };
}
