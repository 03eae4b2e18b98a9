import { type Principal, type Ticket, verifyTicket } from '@kr/caller';
import { ServiceError } from '@kr/service-error';

/** Access -> actions of a ticket that allow it. `read_files` is of the form that the ticket names. */
const ALLOWED_BY = {
  read: ['read_files', 'write_files', 'import_files'],
  write: ['write_files'],
  import: ['import_files'],
  trail: ['read_audit_log'],
} as const;

export type FileAccess = keyof typeof ALLOWED_BY;

/** The fields of a ticket that requests to the content port use. */
export type TicketEntity = Pick<Ticket, 'entityId' | 'form' | 'ownerId'>;

/** Opens a ticket for one kind of access. A ticket to write or import also allows reading. */
export type OpenTicket = (token: string, access: FileAccess) => Ticket;

/**
 * @throws ServiceError
 *   - `unauthenticated`: not signed for this service, or expired
 *   - `forbidden`: none of its actions allows the access
 */
export function ticketOpener(key: string, now: () => Date): OpenTicket {
  return (token, access) => verifyTicket(token, { audience: 'files', key, actions: ALLOWED_BY[access], now });
}

/** @throws ServiceError `forbidden`: the caller is neither an operator nor a service */
export function requireOperator({ isAdmin, service }: Principal): void {
  if (!isAdmin && service === null) throw new ServiceError('forbidden', 'Permission denied.');
}

/** @throws ServiceError `forbidden`: the caller is a person, or another service than the one named */
export function requireService(principal: Principal, name?: string): void {
  const isAllowed = name === undefined ? principal.service !== null : principal.service === name;
  if (!isAllowed) throw new ServiceError('forbidden', 'Permission denied.');
}
