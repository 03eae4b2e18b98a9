import type { IncomingHttpHeaders } from 'node:http';
import fresh from 'fresh';

export interface Validators {
  etag: string;
  lastModified: Date;
}

/** `failed`: 412. `unchanged`: 304. */
export type Precondition = 'passed' | 'failed' | 'unchanged';

/** What the conditions of a GET or HEAD come to, in the order of RFC 9110, 13.2.2. */
export function precondition(headers: IncomingHttpHeaders, { etag, lastModified }: Validators): Precondition {
  const ifMatch = headers['if-match'];
  if (ifMatch !== undefined) {
    if (!matches(ifMatch, etag)) return 'failed';
  } else if (isBefore(headers['if-unmodified-since'], lastModified)) {
    return 'failed';
  }
  return fresh(headers, { etag, 'last-modified': lastModified.toUTCString() }) ? 'unchanged' : 'passed';
}

/** Whether a Range header counts: always, unless If-Range names another representation (RFC 9110, 13.1.5). */
export function isRangeValid(ifRange: string | undefined, { etag, lastModified }: Validators): boolean {
  return ifRange === undefined || ifRange === etag || ifRange === lastModified.toUTCString();
}

/** A strong comparison with a list of entity tags; one without quotes is taken as if it had them. */
function matches(list: string, etag: string): boolean {
  const tags = list.split(',').map((tag) => tag.trim());
  return tags.some((tag) => tag === '*' || tag === etag || `"${tag}"` === etag);
}

function isBefore(header: string | undefined, lastModified: Date): boolean {
  const instant = Date.parse(header ?? '');
  return !Number.isNaN(instant) && instant < Math.floor(lastModified.getTime() / 1_000) * 1_000;
}
