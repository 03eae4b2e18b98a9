import type { Issue } from '@kr/service-error';
import { edtfBounds } from './fields/edtf-date.ts';
import { isObject, type JsonObject } from './fields/field.ts';
import { MESSAGES, newReport, type Report } from './report.ts';

/** The access settings of an entity's record and its files. */
export type Visibility = 'public' | 'restricted';

/** The stored `access` object; a draft may have an invalid embargo. */
export interface StoredAccess {
  record: Visibility;
  files: Visibility;
  embargo: { active: boolean; until?: string; reason: string | null };
}

/** The default access of an entity. */
export const OPEN_ACCESS: StoredAccess = {
  record: 'public',
  files: 'public',
  embargo: { active: false, reason: null },
};

/**
 * Checks an `access` object. `issues` may be saved in a draft; `fatal` ones refuse even that: whether something is
 * public is not guessed. Derived `status` is accepted and ignored.
 */
export function checkAccess(
  input: unknown,
  { now }: { now: Date },
): { access: StoredAccess; issues: Issue[]; fatal: Issue[] } {
  const report = newReport();
  const fatal = newReport();
  if (!isObject(input)) {
    fatal.add(
      input === null ? 'access' : 'access._schema',
      input === null ? MESSAGES.nil : MESSAGES.notObject,
    );
    return { access: OPEN_ACCESS, issues: [], fatal: fatal.issues() };
  }
  const { record, files } = input;
  if (record === undefined && files === undefined) {
    report.add('access.record', MESSAGES.missing);
    report.add('access.files', MESSAGES.missing);
  }
  const access: StoredAccess = {
    record: visibility('record', record, files, fatal),
    files: visibility('files', files, record, fatal),
    embargo: checkEmbargo(input['embargo'], now, report),
  };
  for (const name of Object.keys(input)) {
    if (!['record', 'files', 'embargo', 'status'].includes(name))
      report.add(`access.${name}`, MESSAGES.unknown);
  }
  return { access, issues: report.issues(), fatal: fatal.issues() };
}

function visibility(name: string, value: unknown, other: unknown, fatal: Report): Visibility {
  if (value === 'public' || value === 'restricted') return value;
  if (value !== undefined) fatal.add(`access.${name}`, `'${name}' must be either 'public' or 'restricted'`);
  else if (other !== undefined) fatal.add(`access.${name}`, MESSAGES.missing);
  return 'public';
}

function checkEmbargo(value: unknown, now: Date, report: Report): StoredAccess['embargo'] {
  const none = { active: false, reason: null };
  if (value === undefined) return none;
  if (!isObject(value)) {
    report.add('access.embargo', value === null ? MESSAGES.nil : MESSAGES.notObject);
    return none;
  }
  for (const name of Object.keys(value)) {
    if (!['active', 'until', 'reason'].includes(name)) report.add(`access.embargo.${name}`, MESSAGES.unknown);
  }
  const until = checkUntil(value['until'], report);
  const isFuture = until?.isDate === true && startOf(until.text) > now;
  const active = checkActive(value['active'], isFuture, report);
  if (until === undefined || until.isDate) {
    if (active && !isFuture) {
      report.add('access.embargo.until', 'Embargo end date must be set to a future date.');
    } else if (!active && isFuture) {
      report.add('access.embargo.until', 'Embargo end date must be unset or in the past.');
    }
  }
  return { active, ...(until ? { until: until.text } : {}), reason: checkReason(value['reason'], report) };
}

function checkActive(value: unknown, isFuture: boolean, report: Report): boolean {
  if (value === undefined) return isFuture;
  if (typeof value === 'boolean') return value;
  report.add('access.embargo.active', value === null ? MESSAGES.nil : 'Not a valid boolean.');
  return false;
}

function checkUntil(value: unknown, report: Report): { text: string; isDate: boolean } | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  const isDate =
    typeof value === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(value) && edtfBounds(value) !== undefined;
  if (!isDate) report.add('access.embargo.until', 'Not a valid date.');
  return typeof value === 'string' ? { text: value, isDate } : undefined;
}

function checkReason(value: unknown, report: Report): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'string') return value;
  report.add('access.embargo.reason', MESSAGES.notText);
  return null;
}

const startOf = (day: string): Date => new Date(`${day}T00:00:00Z`);

/**
 * The effective access at an instant: an embargo that has passed opens the record and its files in the same
 * second.
 */
export function effectiveAccess(
  access: StoredAccess,
  now: Date,
): { record: Visibility; files: Visibility; isEmbargoed: boolean } {
  const { record, files, embargo } = access;
  if (!embargo.active) return { record, files, isEmbargoed: false };
  const hasPassed = embargo.until !== undefined && startOf(embargo.until) <= now;
  return hasPassed
    ? { record: 'public', files: 'public', isEmbargoed: false }
    : { record, files, isEmbargoed: true };
}

export type AccessStatus = 'embargoed' | 'metadata-only' | 'open' | 'restricted';

/** `access.status`, from the rules that hold now and the number of file entries. */
export function accessStatus(access: StoredAccess, fileCount: number, now: Date): AccessStatus {
  const { record, files, isEmbargoed } = effectiveAccess(access, now);
  if (isEmbargoed) return 'embargoed';
  if (record === 'public' && fileCount === 0) return 'metadata-only';
  return record === 'public' && files === 'public' ? 'open' : 'restricted';
}

/** The public `access` object at an instant. */
export function renderAccess(access: StoredAccess, fileCount: number, now: Date): JsonObject {
  const { record, files, isEmbargoed } = effectiveAccess(access, now);
  const { until, reason } = access.embargo;
  return {
    record,
    files,
    embargo: { active: isEmbargoed, ...(until === undefined ? {} : { until }), reason },
    status: accessStatus(access, fileCount, now),
  };
}
