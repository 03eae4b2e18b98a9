import type { ListLinksRequest__Output, ListLinksResponse } from '@kr/contracts';
import type { AccessLinksContext } from '../context.ts';
import { listLinksOf } from '../store/link-store.ts';
import { toLinkMessage } from './link-message.ts';

/** RPC ListLinks. @throws ServiceError `unauthenticated`, `forbidden`: as CreateLink */
export function listLinks(context: AccessLinksContext) {
  return async ({ ticket }: ListLinksRequest__Output): Promise<ListLinksResponse> => {
    const { parentId } = context.openTicket(ticket);
    const links = await listLinksOf(context.database, [parentId]);
    return { links: links.map((link) => toLinkMessage(link, context.mint)) };
  };
}
