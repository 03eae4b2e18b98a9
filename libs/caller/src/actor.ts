/** The caller as recorded with an action. */
export interface Actor {
  /** Null for the holder of an access link without a user, and for a service. */
  userId: string | null;
  /** The presented access links that were valid for the target of the action. */
  linkIds: readonly string[];
  /** The name of a service that acted on its own behalf. */
  service: string | null;
  /** The personal access token at hand, if it was one. */
  tokenId: string | null;
  requestId: string;
  /** Null without a trace. */
  traceId: string | null;
}
