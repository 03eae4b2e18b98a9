import type { Actor } from '@kr/caller';

/** The actor of the commands. */
export const ACTOR: Actor = {
  userId: '1',
  linkIds: [],
  service: null,
  tokenId: null,
  requestId: 'r',
  traceId: null,
};
