import { readTrail } from '@kr/audit-trail';
import type {
  AwaitFileEventsSentRequest__Output,
  AwaitFileEventsSentResponse,
  ListEntriesRequest__Output,
  ListEntriesResponse,
  ReadEntryRequest__Output,
  ReadEntryResponse,
  ReadFileTrailRequest__Output,
  ReadFileTrailResponse,
} from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import type { OpenTicket } from '../access.ts';
import type { FilesContext } from '../context.ts';
import { fileEntryMessage } from '../file-entry.ts';
import { noSuchFile } from '../file-errors.ts';
import { listEntries as entriesOf, findEntry } from '../store/entry-store.ts';
import type { Database } from '../store/prisma.ts';

/** RPC ListEntries. An unknown bucket is an empty one. @throws ServiceError as the ticket demands */
export function listEntries({ database, openTicket }: { database: Database; openTicket: OpenTicket }) {
  return async ({ ticket }: ListEntriesRequest__Output): Promise<ListEntriesResponse> => {
    const { entityId } = openTicket(ticket, 'read');
    const entries = await entriesOf(database, entityId);
    return { entries: entries.map(fileEntryMessage) };
  };
}

/** RPC ReadEntry. @throws ServiceError `not_found`: no such file; else as the ticket demands */
export function readEntry({ database, openTicket }: { database: Database; openTicket: OpenTicket }) {
  return async ({ ticket, key }: ReadEntryRequest__Output): Promise<ReadEntryResponse> => {
    const { entityId } = openTicket(ticket, 'read');
    const entry = await findEntry(database, entityId, key);
    if (entry === undefined) throw noSuchFile(entityId, key);
    return { entry: fileEntryMessage(entry) };
  };
}

/** RPC ReadFileTrail. @throws ServiceError `unauthenticated`, `forbidden`: the ticket does not let its bearer read it */
export function readFileTrail({ database, openTicket }: { database: Database; openTicket: OpenTicket }) {
  return async ({ ticket, limit }: ReadFileTrailRequest__Output): Promise<ReadFileTrailResponse> => {
    const { parentId } = openTicket(ticket, 'trail');
    return { trail: await readTrail(database, parentId, limit) };
  };
}

/** So that the answer is there before the caller stops waiting for it. */
const ANSWER_MS = 50;

/** FilesService.AwaitFileEventsSent. */
export function awaitFileEventsSent({ eventsSent, now }: Pick<FilesContext, 'eventsSent' | 'now'>) {
  return async (
    _request: AwaitFileEventsSentRequest__Output,
    { deadline, signal }: Pick<CallContext, 'deadline' | 'signal'>,
  ): Promise<AwaitFileEventsSentResponse> => {
    const timeoutMs = deadline.getTime() - now().getTime() - ANSWER_MS;
    return { areSent: await eventsSent({ timeoutMs, signal }) };
  };
}
