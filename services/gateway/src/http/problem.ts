import { STATUS_CODES } from 'node:http';

export const PROBLEM_TYPE = 'application/problem+json';

const NAMED = /(?:^|,)\s*application\/problem\+json\s*(?:;([^,]*))?(?=,|$)/i;
const NO_WEIGHT = /(?:^|;)\s*q\s*=\s*0(?:\.0*)?\s*(?:;|$)/i;

/**
 * Whether an Accept header names the problem format for errors. A wildcard does not, and it does not matter what else
 * is named or with what weight: a client that names it can read it.
 */
export function asksForProblem(accept: string | undefined): boolean {
  const named = NAMED.exec(accept ?? '');
  return named !== null && !NO_WEIGHT.test(named[1] ?? '');
}

/** What an error body says in our own format. */
export interface ErrorBody {
  status: number;
  message: string;
  code: string;
  /** What the caller can do. */
  hint?: string;
  errors?: readonly object[];
  /** Set for what an administrator has removed. */
  tombstone?: object;
}

/** The same as problem details (RFC 9457). The type is the status alone; the code names the cause. */
export function problemBody(
  { status, message, code, hint, errors, tombstone }: ErrorBody,
  requestId: string,
): object {
  return {
    type: 'about:blank',
    title: STATUS_CODES[status] ?? 'Error',
    status,
    detail: message,
    instance: `urn:request:${requestId}`,
    code,
    ...(hint === undefined ? {} : { hint }),
    ...(errors === undefined ? {} : { errors }),
    ...(tombstone === undefined ? {} : { tombstone }),
  };
}
