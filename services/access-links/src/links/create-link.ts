import type { CreateLinkRequest__Output, CreateLinkResponse } from '@kr/contracts';
import { appendEvents } from '@kr/event-bus';
import type { AccessLinksContext } from '../context.ts';
import type { Link } from '../link.ts';
import { insertLink } from '../store/link-store.ts';
import { readLinkBody } from './link-body.ts';
import { invalidLink } from './link-errors.ts';
import { linkEvent } from './link-event.ts';
import { toLinkMessage } from './link-message.ts';
import { checkNewLink } from './link-rules.ts';

/**
 * RPC CreateLink.
 *
 * @throws ServiceError
 *   - `unauthenticated`, `forbidden`: the ticket does not let its bearer manage links
 *   - `invalid`: the body; one issue for each field
 */
export function createLink(context: AccessLinksContext) {
  return async ({ ticket, body }: CreateLinkRequest__Output): Promise<CreateLinkResponse> => {
    const { parentId, userId } = context.openTicket(ticket);
    const createdAt = context.now();
    const { wish, issues } = checkNewLink(readLinkBody(body), createdAt);
    if (issues.length > 0) throw invalidLink(issues);

    const link: Link = {
      linkId: context.newId(),
      parentId,
      ...wish,
      createdAt,
      nonce: context.newNonce(),
      keyId: context.mint.keyId,
      revision: 1n,
    };
    await context.database.$transaction(async (tx) => {
      await insertLink(tx, link, userId);
      await appendEvents(tx, [linkEvent('created', link)]);
    });
    context.nudgeRelay();
    return { link: toLinkMessage(link, context.mint) };
  };
}
