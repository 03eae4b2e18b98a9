import type { AccessLink } from '@kr/contracts';
import { parseInstant } from '@kr/instant';
import { type Issue, ServiceError } from '@kr/service-error';
import type { TokenMint } from './tokens/link-token.ts';

export const PERMISSIONS = ['view', 'preview', 'edit'] as const;
export type Permission = (typeof PERMISSIONS)[number];

/** A link that is not revoked; it may have expired. */
export interface Link {
  linkId: string;
  parentId: string;
  permission: Permission;
  createdAt: Date;
  /** Null: never. */
  expiresAt: Date | null;
  /** Input of the token's derivation, besides the id. */
  nonce: string;
  keyId: string;
  revision: bigint;
}

export function noSuchLink(): ServiceError {
  return new ServiceError('not_found', 'No secret link found with the given ID.');
}

export function tooManyLinks(most: number): ServiceError {
  return new ServiceError('invalid', `An entity may have at most ${most} access links; revoke one.`, {
    code: 'too_many_links',
  });
}

export function invalidLink(issues: readonly Issue[]): ServiceError {
  return new ServiceError('invalid', 'A validation error occurred.', { issues });
}

/** A request body that is a JSON object. @throws ServiceError `invalid`: no JSON, or something else in it */
export function readLinkBody(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  const body = bytes.length === 0 ? undefined : parse(bytes);
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw invalidLink([{ field: '_schema', messages: ['Invalid input type.'] }]);
  }
  return body as Record<string, unknown>;
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8').trim());
  } catch (cause) {
    throw new ServiceError('invalid', 'Unable to decode JSON data in request body.', { cause });
  }
}

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

/** The link with its token, for callers who manage it. */
export function toLinkMessage(link: Link, mint: TokenMint): AccessLink {
  return {
    id: link.linkId,
    permission: link.permission,
    createdAt: toTimestamp(link.createdAt),
    expiresAt: link.expiresAt === null ? null : toTimestamp(link.expiresAt),
    token: mint.tokenOf(link) ?? '',
  };
}

function toTimestamp(instant: Date) {
  const ms = instant.getTime();
  const seconds = Math.floor(ms / 1_000);
  return { seconds, nanos: (ms - seconds * 1_000) * 1_000_000 };
}
