export type { Actor } from './actor.ts';
export { anonymous, type LinkGrant, type Principal, servicePrincipal } from './principal.ts';
export { signPrincipal, verifyPrincipal } from './principal-token.ts';
export { isScope, SCOPES, type Scope } from './scope.ts';
export type { Ticket, TicketAudience } from './ticket.ts';
export { signTicket, verifyTicket } from './ticket-token.ts';
