import { appendAudited } from '@kr/audit-trail';
import type { RevokeLinkRequest__Output, RevokeLinkResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import type { AccessLinksContext } from '../context.ts';
import { endLink, lockLink } from '../store/link-store.ts';
import { linkEntry } from './link-entry.ts';
import { noSuchLink } from './link-errors.ts';
import { linkEvent } from './link-event.ts';

/**
 * RPC RevokeLink: from its answer on, the token opens nothing.
 *
 * @throws ServiceError
 *   - `unauthenticated`, `forbidden`: as CreateLink
 *   - `not_found`: this parent has no such link, or no longer
 */
export function revokeLink(context: AccessLinksContext) {
  return async (
    { ticket, linkId }: RevokeLinkRequest__Output,
    { principal }: CallContext,
  ): Promise<RevokeLinkResponse> => {
    const opened = context.openTicket(ticket);
    const { parentId } = opened;
    await context.database.$transaction(async (tx) => {
      const link = await lockLink(tx, parentId, linkId);
      if (link === undefined) throw noSuchLink();
      const ended = { ...link, revision: link.revision + 1n };
      await endLink(tx, ended, context.now());
      await appendAudited(tx, [linkEvent('revoked', ended)], [linkEntry('revoke', ended, opened, principal)]);
    });
    context.nudgeRelay();
    return {};
  };
}
