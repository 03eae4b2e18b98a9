import type { Actor, Principal } from '@kr/caller';
import { currentTraceId } from '@kr/telemetry';

/**
 * The caller as recorded in the trail, with the trace id of the active span. Of the presented links it includes only those
 * for the given parents, because a trail must not reveal other entities.
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
