import { readTrail } from '@kr/audit-trail';
import type { FilesContext } from '../context.ts';
import { fileEntryMessage, findFile, listFiles } from '../file-entry.ts';
import { noSuchFile } from '../file-errors.ts';
import type { Rpc } from '../rpc.ts';

/** RPC ListEntries. An unknown bucket is an empty one. @throws ServiceError as the ticket demands */
export function listEntries({ database, openTicket }: FilesContext): Rpc<'ListEntries'> {
  return async ({ ticket }) => {
    const { entityId } = openTicket(ticket, 'read');
    const entries = await listFiles(database, entityId);
    return { entries: entries.map(fileEntryMessage) };
  };
}

/** RPC ReadEntry. @throws ServiceError `not_found`: no such file; else as the ticket demands */
export function readEntry({ database, openTicket }: FilesContext): Rpc<'ReadEntry'> {
  return async ({ ticket, key }) => {
    const { entityId } = openTicket(ticket, 'read');
    const entry = await findFile(database, entityId, key);
    if (entry === undefined) throw noSuchFile(entityId, key);
    return { entry: fileEntryMessage(entry) };
  };
}

/** RPC ReadFileTrail. @throws ServiceError `unauthenticated`, `forbidden`: the ticket does not let its bearer read it */
export function readFileTrail({ database, openTicket }: FilesContext): Rpc<'ReadFileTrail'> {
  return async ({ ticket, limit }) => {
    const { parentId } = openTicket(ticket, 'trail');
    return { trail: await readTrail(database, parentId, limit) };
  };
}

/** So that the answer is there before the caller stops waiting for it. */
const ANSWER_MS = 50;

/** FilesService.AwaitFileEventsSent. */
export function awaitFileEventsSent({ eventsSent, now }: FilesContext): Rpc<'AwaitFileEventsSent'> {
  return async (_request, { deadline, signal }) => {
    const timeoutMs = deadline.getTime() - now().getTime() - ANSWER_MS;
    return { areSent: await eventsSent({ timeoutMs, signal }) };
  };
}
