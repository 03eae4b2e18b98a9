import type { Actor } from '@kr/caller';

/** Whoever asks for what the commands do. */
export const ACTOR: Actor = {
  userId: '1',
  linkIds: [],
  service: null,
  tokenId: null,
  requestId: 'r',
  traceId: null,
};
