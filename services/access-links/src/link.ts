import { type AccessLink, timestamp } from '@kr/contracts';
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

export function tooManyLinks(limit: number): ServiceError {
  return new ServiceError('invalid', `An entity may have at most ${limit} access links; revoke one.`, {
    code: 'too_many_links',
  });
}

export function invalidLink(issues: readonly Issue[]): ServiceError {
  return new ServiceError('invalid', 'A validation error occurred.', { issues });
}

/** A request body that is a JSON object. @throws ServiceError `invalid`: anything else */
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
export interface Checked<Input> {
  input: Input;
  issues: Issue[];
}

export interface LinkInput {
  permission: Permission;
  expiresAt: Date | null;
}

/** The body of POST access/links (REST document, section 4.7). */
export function checkNewLink(body: Readonly<Record<string, unknown>>, now: Date): Checked<LinkInput> {
  const permission = checkPermission(body['permission']);
  // Links without expiry are returned with null, so clients may send it.
  const expiry = body['expires_at'] === null ? {} : checkExpiry(body['expires_at'], now);
  return {
    input: { permission: permission.value ?? 'view', expiresAt: expiry.value ?? null },
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
): Checked<LinkInput> {
  const permission = checkPermission(body['permission']);
  const expiry = checkExpiry(body['expires_at'], now);
  const isPostponed = expiry.value !== undefined && link.expiresAt !== null && expiry.value > link.expiresAt;
  return {
    input: { permission: permission.value ?? 'view', expiresAt: expiry.value ?? link.expiresAt },
    issues: [
      ...(permission.issues ?? []),
      ...(expiry.issues ?? []),
      ...(isPostponed ? [issue('expires_at', 'Cannot postpone expiration of links')] : []),
      ...unknownFields(body),
    ],
  };
}

/** Neither of the two for an optional field that is absent. */
interface Field<Value> {
  value?: Value;
  issues?: Issue[];
}

function checkPermission(value: unknown): Field<Permission> {
  const rejected = (message: string) => ({ issues: [issue('permission', message)] });
  if (value === undefined) return rejected('An access permission level is required');
  if (value === null) return rejected('Field may not be null.');
  if (typeof value !== 'string') return rejected('Not a valid string.');
  const permission = PERMISSIONS.find((one) => one === value);
  return permission === undefined
    ? rejected(`Must be one of: ${PERMISSIONS.join(', ')}.`)
    : { value: permission };
}

function checkExpiry(value: unknown, now: Date): Field<Date> {
  const rejected = (message: string) => ({ issues: [issue('expires_at', message)] });
  if (value === undefined) return {};
  if (value === null) return rejected('Field may not be null.');
  const instant = typeof value === 'string' ? parseInstant(value) : undefined;
  if (instant === undefined) return rejected('Not a valid datetime.');
  return instant > now ? { value: instant } : rejected('Expiration date must be set to the future');
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
    createdAt: timestamp(link.createdAt),
    expiresAt: link.expiresAt === null ? null : timestamp(link.expiresAt),
    token: mint.tokenOf(link) ?? '',
  };
}
