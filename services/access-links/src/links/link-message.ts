import type { AccessLink } from '@kr/contracts';
import type { Link } from '../link.ts';
import type { TokenMint } from '../tokens/link-token.ts';

/** The link with its token, for callers who manage it. */
export function toLinkMessage(link: Link, mint: TokenMint): AccessLink {
  return {
    id: link.linkId,
    permission: link.permission,
    createdAt: toTimestamp(link.createdAt),
    expiresAt: link.expiresAt === null ? null : toTimestamp(link.expiresAt),
    token: mint.tokenOf(link) ?? '',
  };
}

function toTimestamp(instant: Date) {
  const ms = instant.getTime();
  const seconds = Math.floor(ms / 1_000);
  return { seconds, nanos: (ms - seconds * 1_000) * 1_000_000 };
}
