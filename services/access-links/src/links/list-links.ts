import { readTrail } from '@kr/audit-trail';
import type {
  ListLinksRequest__Output,
  ListLinksResponse,
  ListParentLinksRequest__Output,
  ListParentLinksResponse,
  ReadLinkRequest__Output,
  ReadLinkResponse,
  ReadLinkTrailRequest__Output,
  ReadLinkTrailResponse,
} from '@kr/contracts';
import { ServiceError } from '@kr/service-error';
import type { AccessLinksContext } from '../context.ts';
import { noSuchLink, toLinkMessage } from '../link.ts';
import { findLink, listLinksOf } from '../store/link-store.ts';

/** RPC ListLinks. @throws ServiceError `unauthenticated`, `forbidden`: as CreateLink */
export function listLinks(context: AccessLinksContext) {
  return async ({ ticket }: ListLinksRequest__Output): Promise<ListLinksResponse> => {
    const { parentId } = context.openTicket(ticket);
    const links = await listLinksOf(context.database, [parentId]);
    return { links: links.map((link) => toLinkMessage(link, context.mint)) };
  };
}

const MAX_PARENTS = 100;

/** RPC ListParentLinks. @throws ServiceError `invalid`: too many parents */
export function listParentLinks({ database }: Pick<AccessLinksContext, 'database'>) {
  return async ({ parentIds }: ListParentLinksRequest__Output): Promise<ListParentLinksResponse> => {
    if (parentIds.length > MAX_PARENTS)
      throw new ServiceError('invalid', 'The request is not valid.', {
        issues: [{ field: 'parent_ids', messages: [`At most ${MAX_PARENTS}.`] }],
      });
    const links = await listLinksOf(database, parentIds);
    return {
      links: links.map(({ linkId, parentId, revision }) => ({
        id: linkId,
        parentId,
        revision: String(revision),
      })),
    };
  };
}

/**
 * RPC ReadLink.
 *
 * @throws ServiceError
 *   - `unauthenticated`, `forbidden`: as CreateLink
 *   - `not_found`: this parent has no such link
 */
export function readLink(context: AccessLinksContext) {
  return async ({ ticket, linkId }: ReadLinkRequest__Output): Promise<ReadLinkResponse> => {
    const { parentId } = context.openTicket(ticket);
    const link = await findLink(context.database, parentId, linkId);
    if (link === undefined) throw noSuchLink();
    return { link: toLinkMessage(link, context.mint) };
  };
}

/** RPC ReadLinkTrail. @throws ServiceError `unauthenticated`, `forbidden`: the ticket does not let its bearer read it */
export function readLinkTrail({ database, openTicket }: AccessLinksContext) {
  return async ({ ticket, limit }: ReadLinkTrailRequest__Output): Promise<ReadLinkTrailResponse> => {
    const { parentId } = openTicket(ticket, 'read_audit_log');
    return { trail: await readTrail(database, parentId, limit) };
  };
}
