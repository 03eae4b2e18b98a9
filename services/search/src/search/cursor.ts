import { ServiceError } from '@kr/service-error';
import type { Sort, SortPosition } from '../engine/search-engine.ts';

/** The sorts that cursors support: the order of two hits does not depend on the query. */
export type CursorSort = Exclude<Sort, 'bestmatch'>;

/** The first page. */
const FIRST = '*';

const SORTS: readonly CursorSort[] = ['newest', 'oldest', 'version', 'updated-desc', 'updated-asc'];
const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z$/;
const MAX_ID_LENGTH = 100;

/**
 * The end of a page, which the caller sends with the next request: id, times and version of its last hit. This hit may
 * be omitted from the page, because it was deleted or restricted since it was indexed.
 */
export function formatCursor(sort: CursorSort, position: SortPosition): string {
  const { createdAt, updatedAt, versionIndex, id, form } = position;
  return Buffer.from(JSON.stringify([sort, createdAt, updatedAt, versionIndex, id, form])).toString(
    'base64url',
  );
}

/**
 * The position after which a page starts; null for the first.
 *
 * @throws ServiceError `invalid` with code `invalid_cursor`: no cursor of ours, or of another order
 */
export function parseCursor(text: string, sort: CursorSort): SortPosition | null {
  if (text === FIRST) return null;
  const [writtenSort, createdAt, updatedAt, versionIndex, id, form] = decode(text);
  const isCursor =
    SORTS.some((option) => option === writtenSort) &&
    isInstant(createdAt) &&
    isInstant(updatedAt) &&
    isVersion(versionIndex) &&
    isId(id) &&
    (form === 'draft' || form === 'published');
  if (!isCursor)
    throw invalidCursor('Not a cursor: start with *, and continue with the link to the next page.');
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

/** `Date` turns 31 February into a day of March. */
function isDate(value: string): boolean {
  const milliseconds = Date.parse(`${value.slice(0, 23)}Z`);
  return !Number.isNaN(milliseconds) && new Date(milliseconds).toISOString().startsWith(value.slice(0, 19));
}

function isVersion(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 2 ** 31;
}

function isId(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value.length <= MAX_ID_LENGTH &&
    value.isWellFormed() &&
    !value.includes('\0')
  );
}
