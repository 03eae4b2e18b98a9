import type { Actor } from '@kr/caller';
import type { Actor__Output, Actor as ActorMessage } from '@kr/contracts';

/** For a service that writes the entry on behalf of another service. */
export function toActorMessage({
  userId,
  service,
  tokenId,
  traceId,
  linkIds,
  requestId,
}: Actor): ActorMessage {
  return {
    userId: userId ?? '',
    linkIds: [...linkIds],
    service: service ?? '',
    tokenId: tokenId ?? '',
    requestId,
    traceId: traceId ?? '',
  };
}

export function fromActorMessage({
  userId,
  linkIds,
  service,
  tokenId,
  requestId,
  traceId,
}: Actor__Output): Actor {
  return {
    userId: userId || null,
    linkIds,
    service: service || null,
    tokenId: tokenId || null,
    requestId,
    traceId: traceId || null,
  };
}
