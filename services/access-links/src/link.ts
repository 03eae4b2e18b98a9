export const PERMISSIONS = ['view', 'preview', 'edit'] as const;
export type Permission = (typeof PERMISSIONS)[number];

/** A link that is not revoked; it may have expired. */
export interface Link {
  linkId: string;
  parentId: string;
  permission: Permission;
  createdAt: Date;
  /** Null: never. */
  expiresAt: Date | null;
  /** What the token is derived from, beside the id. */
  nonce: string;
  keyId: string;
  revision: bigint;
}
