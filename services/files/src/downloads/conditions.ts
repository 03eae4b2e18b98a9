import type { IncomingHttpHeaders } from 'node:http';

const DAY = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
const LONG_DAY = '(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day';
const MONTH = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)';
const TIME = '\\d\\d:\\d\\d:\\d\\d';

const IN_USE = new RegExp(`^${DAY}, \\d\\d ${MONTH} \\d{4} ${TIME} GMT$`);
const OF_RFC_850 = new RegExp(`^${LONG_DAY}, \\d\\d-${MONTH}-\\d\\d ${TIME} GMT$`);
const OF_ASCTIME = new RegExp(`^${DAY} ${MONTH} [ \\d]\\d ${TIME} \\d{4}$`);

/**
 * The instant that a header names, in milliseconds, in any of the three forms of RFC 9110, 5.6.7; undefined for
 * everything else, which recipients are to ignore.
 */
export function httpDate(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  const isDate = IN_USE.test(header) || OF_RFC_850.test(header);
  if (!isDate && !OF_ASCTIME.test(header)) return undefined;
  const instant = Date.parse(isDate ? header : `${header} GMT`);
  return Number.isNaN(instant) ? undefined : instant;
}

export interface Validators {
  /** Strong, in quotes. */
  etag: string;
  /** Undefined if dates do not distinguish states. */
  lastModified: Date | undefined;
}

/** `failed`: 412. `unchanged`: 304. */
export type Precondition = 'passed' | 'failed' | 'unchanged';

/** The result of a GET's or HEAD's conditions, in the order of RFC 9110, 13.2.2. */
export function precondition(headers: IncomingHttpHeaders, { etag, lastModified }: Validators): Precondition {
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = headers;
  const modified = wholeSecond(lastModified);
  if (ifMatch !== undefined) {
    if (!isNamed(ifMatch, etag)) return 'failed';
  } else if (isLater(modified, httpDate(headers['if-unmodified-since']))) {
    return 'failed';
  }
  if (ifNoneMatch !== undefined) return isNamedWeakly(ifNoneMatch, etag) ? 'unchanged' : 'passed';
  const since = httpDate(headers['if-modified-since']);
  if (since === undefined || modified === undefined) return 'passed';
  return isLater(modified, since) ? 'passed' : 'unchanged';
}

/** Whether a Range header counts: always, unless If-Range names another representation (RFC 9110, 13.1.5). */
export function isRangeValid(ifRange: string | undefined, { etag, lastModified }: Validators): boolean {
  return ifRange === undefined || ifRange === etag || ifRange === lastModified?.toUTCString();
}

/** A strong comparison with a list of entity tags; one without quotes is taken as if it had them. */
function isNamed(list: string, etag: string): boolean {
  return tagsOf(list).some((tag) => tag === '*' || tag === etag || `"${tag}"` === etag);
}

function isNamedWeakly(list: string, etag: string): boolean {
  return isNamed(
    tagsOf(list)
      .map((tag) => tag.replace(/^W\//, ''))
      .join(','),
    etag,
  );
}

function tagsOf(list: string): string[] {
  return list.split(',').map((tag) => tag.trim());
}

/** Headers know no milliseconds. */
function wholeSecond(instant: Date | undefined): number | undefined {
  return instant === undefined ? undefined : Math.floor(instant.getTime() / 1_000) * 1_000;
}

function isLater(instant: number | undefined, than: number | undefined): boolean {
  return instant !== undefined && than !== undefined && instant > than;
}
