import { type Principal, type Ticket, verifyTicket } from '@kr/caller';
import { ServiceError } from '@kr/service-error';

/** The actions that a ticket permits here; the words are actions of the policy table. */
const ALLOWED_BY = {
  read: ['read_files', 'read_draft_files', 'write_files', 'import_files'],
  write: ['write_files'],
  import: ['import_files'],
  trail: ['read_audit_log'],
} as const;

export type FileAccess = keyof typeof ALLOWED_BY;

/** The entity of a ticket, as the byte plane uses it. */
export type TicketEntity = Pick<Ticket, 'entityId' | 'form' | 'ownerId'>;

/** Opens a ticket for one kind of access; who may write a draft's files may read them. */
export type OpenTicket = (token: string, access: FileAccess) => Ticket;

/**
 * @throws ServiceError
 *   - `unauthenticated`: not signed for this service, or expired
 *   - `forbidden`: none of its actions allows the access
 */
export function ticketOpener(key: string, now: () => Date): OpenTicket {
  return (token, access) => verifyTicket(token, { audience: 'files', key, actions: ALLOWED_BY[access], now });
}

/** @throws ServiceError `forbidden`: neither a user who operates the system nor a part of it */
export function requireOperator({ isAdmin, service }: Principal): void {
  if (!isAdmin && service === null) throw new ServiceError('forbidden', 'Permission denied.');
}

/** @throws ServiceError `forbidden`: the caller is a person, or another service than the one named */
export function requireService(principal: Principal, name?: string): void {
  const isAllowed = name === undefined ? principal.service !== null : principal.service === name;
  if (!isAllowed) throw new ServiceError('forbidden', 'Permission denied.');
}
