import type { IncomingHttpHeaders } from 'node:http';
import { httpDate } from './http-date.ts';

export interface Validators {
  /** Strong, in quotes. */
  etag: string;
  /** Undefined where no date tells one state from another. */
  lastModified: Date | undefined;
}

/** `failed`: 412. `unchanged`: 304. */
export type Precondition = 'passed' | 'failed' | 'unchanged';

/** What the conditions of a GET or HEAD come to, in the order of RFC 9110, 13.2.2. */
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
