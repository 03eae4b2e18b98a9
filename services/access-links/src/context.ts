import type { Ticket } from '@kr/caller';
import type { Database } from './store/prisma.ts';
import type { TokenMint } from './tokens/link-token.ts';

/** Dependencies of the handlers. */
export interface AccessLinksContext {
  readonly database: Database;
  readonly mint: TokenMint;
  readonly maxLinksPerEntity: number;
  /**
   * The ticket, if it currently permits the action (default: manage links).
   *
   * @throws ServiceError `unauthenticated`, `forbidden`
   */
  openTicket(token: string, action?: 'manage_links' | 'read_audit_log'): Ticket;
  /** Called after a commit that wrote events. */
  wakeRelay(): void;
  now(): Date;
  newId(): string;
  newNonce(): string;
}
