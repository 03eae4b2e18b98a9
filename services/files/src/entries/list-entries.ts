import type { ListEntriesRequest__Output, ListEntriesResponse } from '@kr/contracts';
import { fileEntryMessage } from '../file-entry-message.ts';
import type { OpenTicket } from '../open-ticket.ts';
import { listEntries as entriesOf } from '../store/entry-store.ts';
import type { Database } from '../store/prisma.ts';

/** RPC ListEntries. An unknown bucket is an empty one. @throws ServiceError as the ticket demands */
export function listEntries({ database, openTicket }: { database: Database; openTicket: OpenTicket }) {
  return async ({ ticket }: ListEntriesRequest__Output): Promise<ListEntriesResponse> => {
    const { entityId } = openTicket(ticket, 'read');
    const entries = await entriesOf(database, entityId);
    return { entries: entries.map(fileEntryMessage) };
  };
}
