import { readTrail } from '@kr/audit-trail';
import type { ReadFileTrailRequest__Output, ReadFileTrailResponse } from '@kr/contracts';
import type { OpenTicket } from '../open-ticket.ts';
import type { Database } from '../store/prisma.ts';

/** RPC ReadFileTrail. @throws ServiceError `unauthenticated`, `forbidden`: the ticket does not let its bearer read it */
export function readFileTrail({ database, openTicket }: { database: Database; openTicket: OpenTicket }) {
  return async ({ ticket, limit }: ReadFileTrailRequest__Output): Promise<ReadFileTrailResponse> => {
    const { parentId } = openTicket(ticket, 'trail');
    return { trail: await readTrail(database, parentId, limit) };
  };
}
