import { isDeepStrictEqual } from 'node:util';
import { appendAudited } from '@kr/audit-trail';
import type {
  ChangeLinkRequest__Output,
  ChangeLinkResponse,
  RevokeLinkRequest__Output,
  RevokeLinkResponse,
} from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import type { AccessLinksContext } from '../context.ts';
import { checkLinkChange, invalidLink, type Link, noSuchLink, readLinkBody, toLinkMessage } from '../link.ts';
import { endLink, lockLink, saveLink } from '../store/link-store.ts';
import { linkEntry, linkEvent } from './link-events.ts';

/**
 * RPC ChangeLink: another permission, an earlier expiry, the same token. Identical values are no change.
 *
 * @throws ServiceError - `unauthenticated`, `forbidden`: as CreateLink - `not_found`: this parent has no such
 * link - `invalid`: the body; one issue for each field
 */
export function changeLink(context: AccessLinksContext) {
  return async (
    { ticket, linkId, body }: ChangeLinkRequest__Output,
    { principal }: CallContext,
  ): Promise<ChangeLinkResponse> => {
    const opened = context.openTicket(ticket);
    const { parentId } = opened;
    const changed = await context.database.$transaction(async (tx): Promise<Link> => {
      const link = await lockLink(tx, parentId, linkId);
      if (link === undefined) throw noSuchLink();
      const { input, issues } = checkLinkChange(readLinkBody(body), link, context.now());
      if (issues.length > 0) throw invalidLink(issues);
      if (isDeepStrictEqual({ ...link, ...input }, link)) return link;

      const next: Link = { ...link, ...input, revision: link.revision + 1n };
      await saveLink(tx, next);
      await appendAudited(tx, [linkEvent('changed', next)], [linkEntry('update', next, opened, principal)]);
      return next;
    });
    context.wakeRelay();
    return { link: toLinkMessage(changed, context.mint) };
  };
}

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
    context.wakeRelay();
    return {};
  };
}
