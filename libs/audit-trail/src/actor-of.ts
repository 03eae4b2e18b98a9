import type { Actor, Principal } from '@kr/caller';
import { currentTraceId } from '@kr/telemetry';

/** The caller as a trail names it, with the trace of the active span. */
export function actorOf({ userId, grants, service, tokenId, requestId }: Principal): Actor {
  return {
    userId,
    linkIds: grants.map(({ linkId }) => linkId),
    service,
    tokenId: tokenId ?? null,
    requestId,
    traceId: currentTraceId() ?? null,
  };
}
