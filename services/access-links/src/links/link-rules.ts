import type { Issue } from '@kr/service-error';
import { type Link, PERMISSIONS, type Permission } from '../link.ts';

/** What a request body asks for, as far as it could be understood, and everything that is wrong with it. */
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
  // A link that never expires says so in its own body, so that body may be sent.
  const expiry = body['expires_at'] === null ? {} : checkExpiry(body['expires_at'], now);
  return {
    wish: { permission: permission.value ?? 'view', expiresAt: expiry.value ?? null },
    issues: [...(permission.issues ?? []), ...(expiry.issues ?? []), ...unknownFields(body)],
  };
}

/** The body of PATCH access/links/{link-id}: the permission is required, an expiry can only come nearer. */
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

const DATE_TIME =
  /^(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d)[T ](?<hour>\d\d):(?<minute>\d\d)(?::(?<second>\d\d)(?:[.,](?<fraction>\d{1,9}))?)?(?<zone>Z|[+-]\d\d(?::?\d\d)?)?$/i;

/** An ISO 8601 date with a time; UTC where no offset is given. Finer than a millisecond is cut off. */
function parseInstant(text: string): Date | undefined {
  const parts = DATE_TIME.exec(text)?.groups;
  if (parts === undefined) return undefined;
  const number = (name: string) => Number(parts[name] ?? 0);
  const [year, month, day, hour, minute, second] = ['year', 'month', 'day', 'hour', 'minute', 'second'].map(
    number,
  );
  const ms = Number((parts['fraction'] ?? '').padEnd(3, '0').slice(0, 3));
  const local = new Date(0);
  local.setUTCFullYear(year ?? 0, (month ?? 0) - 1, day);
  local.setUTCHours(hour ?? 0, minute, second, ms);
  // A part that is out of its range has moved another.
  const isReal =
    local.getUTCMonth() + 1 === month &&
    local.getUTCDate() === day &&
    local.getUTCHours() === hour &&
    local.getUTCMinutes() === minute &&
    local.getUTCSeconds() === second;
  const offset = offsetMinutes(parts['zone']);
  return isReal && offset !== undefined ? new Date(local.getTime() - offset * 60_000) : undefined;
}

function offsetMinutes(zone = 'Z'): number | undefined {
  if (zone.toUpperCase() === 'Z') return 0;
  const [hours, minutes] = [Number(zone.slice(1, 3)), Number(zone.slice(3).replace(':', '') || 0)];
  if (hours > 23 || minutes > 59) return undefined;
  return (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes);
}
