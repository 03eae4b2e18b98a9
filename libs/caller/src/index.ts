export { anonymous, type LinkGrant, type Principal, servicePrincipal } from './principal.ts';
export { signPrincipal, verifyPrincipal } from './principal-token.ts';
export type { Ticket, TicketAudience } from './ticket.ts';
export { signTicket, verifyTicket } from './ticket-token.ts';
