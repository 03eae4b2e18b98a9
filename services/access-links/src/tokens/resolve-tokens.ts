import type { ResolveTokensRequest__Output, ResolveTokensResponse } from '@kr/contracts';
import { ServiceError } from '@kr/service-error';
import type { AccessLinksContext } from '../context.ts';
import { findLinks } from '../store/link-store.ts';
import { claimedLinkId } from './link-token.ts';

const MAX_TOKENS = 100;

/**
 * RPC ResolveTokens: permission and expiry are read at the time of the call, so a changed or revoked link
 * takes effect with the next call.
 *
 * @throws ServiceError `invalid`: more than 100 tokens
 */
export function resolveTokens({ database, mint, now }: AccessLinksContext) {
  return async ({ tokens }: ResolveTokensRequest__Output): Promise<ResolveTokensResponse> => {
    if (tokens.length > MAX_TOKENS) throw new ServiceError('invalid', `More than ${MAX_TOKENS} tokens.`);
    const claims = tokens.map((token) => ({ token, linkId: claimedLinkId(token) }));
    const linkIds = claims.map(({ linkId }) => linkId).filter((linkId) => linkId !== undefined);
    const links = new Map((await findLinks(database, linkIds)).map((link) => [link.linkId, link]));

    const instant = now();
    const valid = claims.flatMap(({ token, linkId }) => {
      const link = linkId === undefined ? undefined : links.get(linkId);
      return link !== undefined && mint.isTokenOf(token, link) ? [link] : [];
    });
    const active = valid.filter(
      ({ isRevoked, expiresAt }) => !isRevoked && (expiresAt === null || expiresAt > instant),
    );
    return {
      grants: active.map(({ linkId, parentId, permission }) => ({ linkId, parentId, permission })),
      hasEnded: active.length < valid.length,
    };
  };
}
