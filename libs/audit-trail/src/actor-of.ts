import type { Actor, Principal } from '@kr/caller';
import { currentTraceId } from '@kr/telemetry';

/**
 * The caller as a trail names it, with the trace of the active span: of the links that were presented those that open one
 * of these parents, for a trail tells nothing of other entities.
 */
export function actorOf(
  { userId, grants, service, tokenId, requestId }: Principal,
  parentIds: readonly (string | null)[] = [],
): Actor {
  return {
    userId,
    linkIds: grants.filter(({ parentId }) => parentIds.includes(parentId)).map(({ linkId }) => linkId),
    service,
    tokenId: tokenId ?? null,
    requestId,
    traceId: currentTraceId() ?? null,
  };
}
