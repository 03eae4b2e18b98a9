import { appendAudited } from '@kr/audit-trail';
import type { CreateLinkRequest__Output, CreateLinkResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import type { AccessLinksContext } from '../context.ts';
import type { Link } from '../link.ts';
import { checkNewLink, invalidLink, readLinkBody, toLinkMessage, tooManyLinks } from '../link.ts';
import { countOpeningLinksOf, insertLink } from '../store/link-store.ts';
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
    const { wish, issues } = checkNewLink(readLinkBody(body), createdAt);
    if (issues.length > 0) throw invalidLink(issues);

    const wanted: Link = {
      linkId: context.newId(),
      parentId,
      ...wish,
      createdAt,
      nonce: context.newNonce(),
      keyId: context.mint.keyId,
      revision: 1n,
    };
    const key = creationKey.length === 0 ? undefined : new Uint8Array(creationKey);
    const link = await context.database.$transaction(async (tx) => {
      const made = await insertLink(tx, wanted, { createdBy: userId, key });
      if (made !== wanted) return made;
      const most = context.maxLinksPerEntity;
      if ((await countOpeningLinksOf(tx, parentId, createdAt)) > most) throw tooManyLinks(most);
      await appendAudited(tx, [linkEvent('created', made)], [linkEntry('create', made, opened, principal)]);
      return made;
    });
    context.nudgeRelay();
    return { link: toLinkMessage(link, context.mint) };
  };
}
