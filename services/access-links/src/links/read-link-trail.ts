import { readTrail } from '@kr/audit-trail';
import type { ReadLinkTrailRequest__Output, ReadLinkTrailResponse } from '@kr/contracts';
import type { AccessLinksContext } from '../context.ts';

/** RPC ReadLinkTrail. @throws ServiceError `unauthenticated`, `forbidden`: the ticket does not let its bearer read it */
export function readLinkTrail({ database, openTicket }: AccessLinksContext) {
  return async ({ ticket, limit }: ReadLinkTrailRequest__Output): Promise<ReadLinkTrailResponse> => {
    const { parentId } = openTicket(ticket, 'read_audit_log');
    return { trail: await readTrail(database, parentId, limit) };
  };
}
