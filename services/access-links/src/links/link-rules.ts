import { parseInstant } from '@kr/instant';
import type { Issue } from '@kr/service-error';
import { type Link, PERMISSIONS, type Permission } from '../link.ts';

/** The valid part of a request body, and all its problems. */
export interface Checked<Wish> {
  wish: Wish;
  issues: Issue[];
}

export interface LinkWish {
  permission: Permission;
  expiresAt: Date | null;
}

/** The body of POST access/links (REST document, section 4.7). */
export function checkNewLink(body: Readonly<Record<string, unknown>>, now: Date): Checked<LinkWish> {
  const permission = checkPermission(body['permission']);
  // Links without expiry are returned with null, so clients may send it.
  const expiry = body['expires_at'] === null ? {} : checkExpiry(body['expires_at'], now);
  return {
    wish: { permission: permission.value ?? 'view', expiresAt: expiry.value ?? null },
    issues: [...(permission.issues ?? []), ...(expiry.issues ?? []), ...unknownFields(body)],
  };
}

/**
 * The body of PATCH access/links/{link-id}: the permission is required, an expiry can only become earlier.
 */
export function checkLinkChange(
  body: Readonly<Record<string, unknown>>,
  link: Pick<Link, 'expiresAt'>,
  now: Date,
): Checked<LinkWish> {
  const permission = checkPermission(body['permission']);
  const expiry = checkExpiry(body['expires_at'], now);
  const isPostponed = expiry.value !== undefined && link.expiresAt !== null && expiry.value > link.expiresAt;
  return {
    wish: { permission: permission.value ?? 'view', expiresAt: expiry.value ?? link.expiresAt },
    issues: [
      ...(permission.issues ?? []),
      ...(expiry.issues ?? []),
      ...(isPostponed ? [issue('expires_at', 'Cannot postpone expiration of links')] : []),
      ...unknownFields(body),
    ],
  };
}

/** Neither of the two when nothing was sent that may be left out. */
interface Field<Value> {
  value?: Value;
  issues?: Issue[];
}

function checkPermission(value: unknown): Field<Permission> {
  const refused = (message: string) => ({ issues: [issue('permission', message)] });
  if (value === undefined) return refused('An access permission level is required');
  if (value === null) return refused('Field may not be null.');
  if (typeof value !== 'string') return refused('Not a valid string.');
  const permission = PERMISSIONS.find((known) => known === value);
  return permission === undefined
    ? refused(`Must be one of: ${PERMISSIONS.join(', ')}.`)
    : { value: permission };
}

function checkExpiry(value: unknown, now: Date): Field<Date> {
  const refused = (message: string) => ({ issues: [issue('expires_at', message)] });
  if (value === undefined) return {};
  if (value === null) return refused('Field may not be null.');
  const instant = typeof value === 'string' ? parseInstant(value) : undefined;
  if (instant === undefined) return refused('Not a valid datetime.');
  return instant > now ? { value: instant } : refused('Expiration date must be set to the future');
}

function unknownFields(body: Readonly<Record<string, unknown>>): Issue[] {
  const unknown = Object.keys(body).filter((key) => key !== 'permission' && key !== 'expires_at');
  return unknown.map((key) => issue(key, 'Unknown field.'));
}

function issue(field: string, message: string): Issue {
  return { field, messages: [message] };
}
