export type TicketAudience = 'files' | 'access-links';

/** A permission that the owner of an entity grants a caller for use at a service without access rules. */
export interface Ticket {
  audience: TicketAudience;
  entityId: string;
  parentId: string;
  form: 'draft' | 'published';
  /** Actions of the policy table. */
  actions: readonly string[];
  /** The entity whose files may be imported; null without an import. */
  sourceEntityId: string | null;
  /** Owner of the entity. Absent in tickets for audit logs. */
  ownerId?: string;
  /** The parent of the package that manages it; null if no package manages it. Absent in tickets for audit logs. */
  managedBy?: string | null;
  /** Null when the caller is anonymous. */
  userId: string | null;
  /** Milliseconds since the epoch. */
  expiresAt: number;
}
