export { fromActorMessage, toActorMessage } from './actor-message.ts';
export { actorOf } from './actor-of.ts';
export { appendAudited, entryRows, insertEntries } from './append-entries.ts';
export { AUDIT_ACTIONS, type AuditAction, type AuditEntry } from './audit-entry.ts';
export { auditEntry, ticketEntry } from './audit-entry-of.ts';
export { MIGRATIONS } from './migrations.ts';
export { type DeletedEntity, findDeletedEntity, readTrail } from './read-trail.ts';
