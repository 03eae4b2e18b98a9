import type { ReadLinkRequest__Output, ReadLinkResponse } from '@kr/contracts';
import type { AccessLinksContext } from '../context.ts';
import { findLink } from '../store/link-store.ts';
import { noSuchLink } from './link-errors.ts';
import { toLinkMessage } from './link-message.ts';

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
