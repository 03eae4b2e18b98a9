import { ERROR_KINDS } from '@kr/service-error';

/** Statuses that only HTTP knows. */
const CODES: Readonly<Record<number, string>> = {
  400: 'malformed_request',
  405: 'method_not_allowed',
  406: 'not_acceptable',
  408: 'request_timeout',
  414: 'url_too_long',
  415: 'unsupported_media_type',
  416: 'range_not_satisfiable',
  417: 'expectation_failed',
  423: 'upload_state_unknown',
  431: 'headers_too_large',
  505: 'http_version_not_supported',
};

/** The code of an error without a more specific one. Listed in docs/errors.md. */
export function codeOfStatus(status: number): string {
  const ofKind = Object.entries(ERROR_KINDS).find(([, { http }]) => http === status)?.[0];
  return CODES[status] ?? ofKind ?? (status > 500 ? 'unavailable' : 'internal');
}
