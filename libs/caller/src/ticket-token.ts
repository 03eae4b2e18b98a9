import { ServiceError } from '@kr/service-error';
import { openToken, signToken } from './signed-token.ts';
import type { Ticket, TicketAudience } from './ticket.ts';

const PURPOSE = 'kr-ticket-1';

interface TicketCheck {
  /** The service that verifies. */
  audience: TicketAudience;
  key: string;
  /** The actions that allow what the caller is about to do. */
  actions: readonly string[];
  now?: () => Date;
}

/** Signs a ticket for its audience with the key shared with that service. */
export function signTicket(ticket: Ticket, key: string): string {
  return signToken(PURPOSE, ticket, key);
}

/**
 * The ticket, when it allows one of the actions here and now.
 *
 * @throws ServiceError
 *   - `unauthenticated`: not signed with this key, meant for another service, or expired
 *   - `forbidden`: it allows none of the actions
 */
export function verifyTicket(
  token: string,
  { audience, key, actions, now = () => new Date() }: TicketCheck,
): Ticket {
  // The signature vouches for the shape: only `signTicket` makes what it covers.
  const ticket = openToken(PURPOSE, token, key) as Ticket | undefined;
  if (ticket?.audience !== audience) throw new ServiceError('unauthenticated', 'The ticket is invalid.');
  if (now().getTime() >= ticket.expiresAt)
    throw new ServiceError('unauthenticated', 'The ticket has expired.');
  if (!actions.some((action) => ticket.actions.includes(action)))
    throw new ServiceError('forbidden', 'Permission denied.');
  return ticket;
}
