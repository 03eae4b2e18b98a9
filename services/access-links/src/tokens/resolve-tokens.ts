import type { ResolveTokensRequest__Output, ResolveTokensResponse } from '@kr/contracts';
import { ServiceError } from '@kr/service-error';
import type { AccessLinksContext } from '../context.ts';
import { findLinks } from '../store/link-store.ts';
import { claimedLinkId } from './link-token.ts';

const MOST_TOKENS = 100;

/**
 * RPC ResolveTokens: permission and expiry are read at the time of the call, so a changed or revoked link
 * takes effect with the next call.
 *
 * @throws ServiceError `invalid`: more than 100 tokens
 */
export function resolveTokens({ database, mint, now }: AccessLinksContext) {
  return async ({ tokens }: ResolveTokensRequest__Output): Promise<ResolveTokensResponse> => {
    if (tokens.length > MOST_TOKENS) throw new ServiceError('invalid', `More than ${MOST_TOKENS} tokens.`);
    const claims = tokens.map((token) => ({ token, linkId: claimedLinkId(token) }));
    const linkIds = claims.map(({ linkId }) => linkId).filter((linkId) => linkId !== undefined);
    const links = new Map((await findLinks(database, linkIds)).map((link) => [link.linkId, link]));

    const instant = now();
    const known = claims.flatMap(({ token, linkId }) => {
      const link = linkId === undefined ? undefined : links.get(linkId);
      return link !== undefined && mint.isTokenOf(token, link) ? [link] : [];
    });
    const opened = known.filter(
      ({ isRevoked, expiresAt }) => !isRevoked && (expiresAt === null || expiresAt > instant),
    );
    return {
      grants: opened.map(({ linkId, parentId, permission }) => ({ linkId, parentId, permission })),
      hasEnded: opened.length < known.length,
    };
  };
}
