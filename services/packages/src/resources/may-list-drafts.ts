import { allows } from '@kr/access-policy';
import type { Principal } from '@kr/caller';

/**
 * Whether the caller may list the resources of a package's drafts or context. Only of who comes with nothing but links
 * does it matter which package it is.
 */
export async function mayListDrafts(
  principal: Principal,
  parentOf: () => Promise<string | undefined>,
): Promise<boolean> {
  if (allows(principal, 'list_draft_resources', null)) return true;
  if (principal.grants.length === 0) return false;
  const parentId = await parentOf();
  if (parentId === undefined) return false;
  const subject = { parentId, ownerIds: [], recordAccess: 'restricted', filesAccess: 'restricted' } as const;
  return allows(principal, 'list_draft_resources', subject);
}
