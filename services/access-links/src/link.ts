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
  /** Input of the token's derivation, besides the id. */
  nonce: string;
  keyId: string;
  revision: bigint;
}
