import { appendAudited } from '@kr/audit-trail';
import type { CreateLinkRequest__Output, CreateLinkResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import type { AccessLinksContext } from '../context.ts';
import type { Link } from '../link.ts';
import { checkNewLink, invalidLink, readLinkBody, toLinkMessage, tooManyLinks } from '../link.ts';
import { countActiveLinks, insertLink } from '../store/link-store.ts';
import { linkEntry, linkEvent } from './link-events.ts';

/**
 * RPC CreateLink. A repeated creation returns the link of the first one in its current state.
 *
 * @throws ServiceError - `unauthenticated`, `forbidden`: the ticket does not let its bearer manage links -
 * `invalid`: the body; one issue for each field - `invalid` (code `too_many_links`): the entity has the
 * maximum number of active links
 */
export function createLink(context: AccessLinksContext) {
  return async (
    { ticket, body, creationKey }: CreateLinkRequest__Output,
    { principal }: CallContext,
  ): Promise<CreateLinkResponse> => {
    const opened = context.openTicket(ticket);
    const { parentId, userId } = opened;
    const createdAt = context.now();
    const { input, issues } = checkNewLink(readLinkBody(body), createdAt);
    if (issues.length > 0) throw invalidLink(issues);

    const newLink: Link = {
      linkId: context.newId(),
      parentId,
      ...input,
      createdAt,
      nonce: context.newNonce(),
      keyId: context.mint.keyId,
      revision: 1n,
    };
    const key = creationKey.length === 0 ? undefined : new Uint8Array(creationKey);
    const link = await context.database.$transaction(async (tx) => {
      const link = await insertLink(tx, newLink, { createdBy: userId, key });
      if (link !== newLink) return link;
      const limit = context.maxLinksPerEntity;
      if ((await countActiveLinks(tx, parentId, createdAt)) > limit) throw tooManyLinks(limit);
      await appendAudited(tx, [linkEvent('created', link)], [linkEntry('create', link, opened, principal)]);
      return link;
    });
    context.wakeRelay();
    return { link: toLinkMessage(link, context.mint) };
  };
}
