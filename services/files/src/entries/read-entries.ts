import { readTrail } from '@kr/audit-trail';
import type { FilesContext } from '../context.ts';
import { fileEntryMessage } from '../file-entry.ts';
import { noSuchFile } from '../file-errors.ts';
import type { Rpc } from '../rpc.ts';
import { listEntries as entriesOf, findEntry } from '../store/entry-store.ts';

type ReadDeps = Pick<FilesContext, 'quick' | 'openTicket'>;

/** RPC ListEntries. An unknown bucket is an empty one. @throws ServiceError as the ticket demands */
export function listEntries({ quick, openTicket }: ReadDeps): Rpc<'ListEntries'> {
  return async ({ ticket }) => {
    const { entityId } = openTicket(ticket, 'read');
    const entries = await entriesOf(quick, entityId);
    return { entries: entries.map(fileEntryMessage) };
  };
}

/** RPC ReadEntry. @throws ServiceError `not_found`: no such file; else as the ticket demands */
export function readEntry({ quick, openTicket }: ReadDeps): Rpc<'ReadEntry'> {
  return async ({ ticket, key }) => {
    const { entityId } = openTicket(ticket, 'read');
    const entry = await findEntry(quick, entityId, key);
    if (entry === undefined) throw noSuchFile(entityId, key);
    return { entry: fileEntryMessage(entry) };
  };
}

/** RPC ReadFileTrail. @throws ServiceError `unauthenticated`, `forbidden`: the ticket does not let its bearer read it */
export function readFileTrail({ quick, openTicket }: ReadDeps): Rpc<'ReadFileTrail'> {
  return async ({ ticket, limit }) => {
    const { parentId } = openTicket(ticket, 'trail');
    return { trail: await readTrail(quick, parentId, limit) };
  };
}

/** So that the answer is there before the caller stops waiting for it. */
const ANSWER_MS = 50;

/** FilesService.AwaitFileEventsSent. */
export function awaitFileEventsSent({
  eventsSent,
  now,
}: Pick<FilesContext, 'eventsSent' | 'now'>): Rpc<'AwaitFileEventsSent'> {
  return async (_request, { deadline, signal }) => {
    const timeoutMs = deadline.getTime() - now().getTime() - ANSWER_MS;
    return { areSent: await eventsSent({ timeoutMs, signal }) };
  };
}
