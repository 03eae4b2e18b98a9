export type TicketAudience = 'files' | 'access-links';

/** What the service that owns an entity allows a caller to do with it at a service that knows no entities. */
export interface Ticket {
  audience: TicketAudience;
  entityId: string;
  parentId: string;
  form: 'draft' | 'published';
  /** Actions of the policy table. */
  actions: readonly string[];
  /** The entity whose files may be imported; null where none. */
  sourceEntityId: string | null;
  /** Whose entity it is, whoever calls. Absent in tickets for audit logs. */
  ownerId?: string;
  /** The parent of the package that manages it, null if none does. Absent in tickets for audit logs. */
  managedBy?: string | null;
  /** Null when the caller is anonymous. */
  userId: string | null;
  /** Milliseconds since the epoch. */
  expiresAt: number;
}
