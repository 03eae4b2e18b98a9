import type { Body } from './document-rules.ts';
import {
  type Caller,
  DENIED,
  type Family,
  type Item,
  isUnpublished,
  isVerdict,
  itemFor,
  type Link,
  missing,
  NOT_FOUND,
  NOT_REGISTERED,
  ok,
  type Permission,
  type Target,
  UNKNOWN,
  update,
  type Verdict,
} from './reference-model.ts';

/** Only owners deal with links. */
export function createLink(
  caller: Caller,
  target: Target,
  permission: Permission,
): Verdict & { link?: Link } {
  const found = itemFor(caller, target);
  if (isVerdict(found)) return found;
  const link: Link = { id: '', token: '', permission };
  found.item.family.links.push(link);
  return { ...ok(201), link };
}

export function listLinks(caller: Caller, target: Target): Verdict & { links?: readonly Link[] } {
  const found = itemFor(caller, target);
  return isVerdict(found) ? found : { ...ok(200), links: found.item.family.links };
}

export function revokeLink(caller: Caller, target: Target, link: Link): Verdict {
  const found = itemFor(caller, target);
  if (isVerdict(found)) return found;
  const { family } = found.item;
  family.links = family.links.filter((one) => one !== link);
  return ok(204);
}

/** A link and what it belongs to. */
export interface Held {
  family: Family;
  link: Link;
}

function opens({ family, link }: Held, item: Item, permissions: readonly Permission[]): boolean {
  const isCovered = item.family === family || item.family.managedBy === family;
  return isCovered && permissions.includes(link.permission);
}

export function readDraftWith(held: Held, target: Target): Verdict {
  const { item } = target;
  const gone = missing(target);
  if (gone !== undefined || item === undefined) return gone ?? UNKNOWN;
  if (item.draft === undefined) return NOT_FOUND;
  return opens(held, item, ['preview', 'edit']) ? ok(200, item) : DENIED;
}

export function readPublishedWith(held: Held, target: Target): Verdict {
  const { item } = target;
  const gone = missing(target);
  if (gone !== undefined || item === undefined) return gone ?? UNKNOWN;
  if (item.published === undefined) return NOT_REGISTERED;
  const isOpen = item.published.access.record === 'public';
  return isOpen || opens(held, item, ['view', 'preview', 'edit']) ? ok(200, item) : DENIED;
}

export function updateWith(held: Held, target: Target, body: Body): Verdict {
  const { item } = target;
  const gone = missing(target);
  if (gone !== undefined || item === undefined) return gone ?? UNKNOWN;
  if (item.draft === undefined) return NOT_FOUND;
  return opens(held, item, ['edit']) ? update(item.family.owner, target, body, true) : DENIED;
}

/** Visible to everybody: the latest published and public version. */
export function isFoundByAll(item: Item): boolean {
  const { items } = item.family;
  const isLatest = items.findLast((one) => !isUnpublished(one)) === item;
  return isLatest && item.published?.access.record === 'public';
}
