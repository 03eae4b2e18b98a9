import { ServiceError } from '@kr/service-error';
import type { Sort, SortPosition } from '../engine/search-engine.ts';

/** The sorts whose order a cursor can follow: what a hit is compared by does not depend on the other hits. */
export type CursorSort = Exclude<Sort, 'bestmatch'>;

/** The first page. */
const FIRST = '*';

const SORTS: readonly CursorSort[] = ['newest', 'oldest', 'version', 'updated-desc', 'updated-asc'];
const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z$/;
const LONGEST_ID = 100;

/**
 * The end of a page, as callers pass it back, so that it need not be stored. It is the position of the last hit that the
 * index may show, even when that is omitted from the page because it was deleted, or restricted, since it was
 * indexed: its id, times and version, none of its content.
 */
export function writeCursor(sort: CursorSort, position: SortPosition): string {
  const { createdAt, updatedAt, versionIndex, id, form } = position;
  return Buffer.from(JSON.stringify([sort, createdAt, updatedAt, versionIndex, id, form])).toString(
    'base64url',
  );
}

/**
 * The place behind which a page begins; null for the first.
 *
 * @throws ServiceError `invalid` with code `invalid_cursor`: no cursor of ours, or of another order
 */
export function readCursor(text: string, sort: CursorSort): SortPosition | null {
  if (text === FIRST) return null;
  const [writtenSort, createdAt, updatedAt, versionIndex, id, form] = decode(text);
  const isCursor =
    SORTS.some((known) => known === writtenSort) &&
    isInstant(createdAt) &&
    isInstant(updatedAt) &&
    isVersion(versionIndex) &&
    isId(id) &&
    (form === 'draft' || form === 'published');
  if (!isCursor) throw invalidCursor('Not a cursor: begin with *, and go on with the link to the next page.');
  if (writtenSort !== sort) {
    throw invalidCursor(`The cursor is of the order '${writtenSort}', and the search of '${sort}'.`);
  }
  return { id, form, createdAt, updatedAt, versionIndex };
}

/** @throws ServiceError as `readCursor` */
export function invalidCursor(message: string): ServiceError {
  return new ServiceError('invalid', 'A validation error occurred.', {
    issues: [{ field: 'cursor', messages: [message] }],
    code: 'invalid_cursor',
  });
}

function decode(text: string): unknown[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}

function isInstant(value: unknown): value is string {
  return typeof value === 'string' && INSTANT.test(value) && !value.startsWith('0000') && isDate(value);
}

/** The platform's dates carry 31 February over into March, and a day that no calendar has is none of ours. */
function isDate(value: string): boolean {
  const milliseconds = Date.parse(`${value.slice(0, 23)}Z`);
  return !Number.isNaN(milliseconds) && new Date(milliseconds).toISOString().startsWith(value.slice(0, 19));
}

function isVersion(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 2 ** 31;
}

function isId(value: unknown): value is string {
  return (
    typeof value === 'string' && value.length <= LONGEST_ID && value.isWellFormed() && !value.includes('\0')
  );
}
