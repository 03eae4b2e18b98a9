/** Who did something, as it is written down beside what was done. */
export interface Actor {
  /** Null for whoever only held an access link, and for a service. */
  userId: string | null;
  /** Of the access links the caller presented, those to what was acted on that held. */
  linkIds: readonly string[];
  /** The name of a service that acted on its own behalf. */
  service: string | null;
  /** The personal access token at hand, if it was one. */
  tokenId: string | null;
  requestId: string;
  /** Null where nothing is traced. */
  traceId: string | null;
}
