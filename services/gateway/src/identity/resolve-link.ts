import { type LinkGrant, servicePrincipal } from '@kr/caller';
import type { LinkGrant__Output } from '@kr/contracts';
import { LRUCache } from 'lru-cache';
import type { Clients } from '../clients.ts';

/** A revoked link works at most this much longer, in milliseconds. */
const REMEMBERED_MS = 900;

export type ResolveLink = (
  token: string,
  requestId: string,
  signal: AbortSignal,
) => Promise<LinkGrant | undefined>;

/** What an access link's token opens now, if anything; what it opens is remembered for less than a second. */
export function resolveLink({ accessLinks }: Pick<Clients, 'accessLinks'>): ResolveLink {
  const remembered = new LRUCache<string, LinkGrant>({ max: 10_000, ttl: REMEMBERED_MS });
  return async (token, requestId, signal) => {
    const known = remembered.get(token);
    if (known !== undefined) return known;
    const { grants } = await accessLinks.resolveTokens(
      { tokens: [token] },
      servicePrincipal('gateway', requestId),
      { signal },
    );
    const grant = grants.map(toGrant).find((candidate) => candidate !== undefined);
    if (grant !== undefined) remembered.set(token, grant);
    return grant;
  };
}

function toGrant({ linkId, parentId, permission }: LinkGrant__Output): LinkGrant | undefined {
  if (permission !== 'view' && permission !== 'preview' && permission !== 'edit') return undefined;
  return { linkId, parentId, permission };
}
