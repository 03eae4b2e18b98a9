import type { ReadEntryRequest__Output, ReadEntryResponse } from '@kr/contracts';
import { fileEntryMessage } from '../file-entry-message.ts';
import { noSuchFile } from '../file-errors.ts';
import type { OpenTicket } from '../open-ticket.ts';
import { findEntry } from '../store/entry-store.ts';
import type { Database } from '../store/prisma.ts';

/** RPC ReadEntry. @throws ServiceError `not_found`: no such file; else as the ticket demands */
export function readEntry({ database, openTicket }: { database: Database; openTicket: OpenTicket }) {
  return async ({ ticket, key }: ReadEntryRequest__Output): Promise<ReadEntryResponse> => {
    const { entityId } = openTicket(ticket, 'read');
    const entry = await findEntry(database, entityId, key);
    if (entry === undefined) throw noSuchFile(entityId, key);
    return { entry: fileEntryMessage(entry) };
  };
}
