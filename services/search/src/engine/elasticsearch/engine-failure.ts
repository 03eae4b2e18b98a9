import { errors } from '@elastic/elasticsearch';
import { ServiceError } from '@kr/service-error';
import { tooComplex } from '../../query/query-error.ts';
import { searchTimeout } from '../search-engine.ts';

/** Temporary HTTP statuses: no index, overload. Failures of the server may be temporary too. */
const TEMPORARY = new Set([404, 408, 429]);

const RETRY_AFTER_MS = 1_000;

/** The error for callers of a failed request to Elasticsearch. */
export function engineFailure(cause: unknown): unknown {
  if (cause instanceof errors.TimeoutError || cause instanceof errors.RequestAbortedError)
    return searchTimeout(cause);
  const isBusy = isTemporary(cause);
  const isUnreachable =
    cause instanceof errors.ConnectionError || cause instanceof errors.NoLivingConnectionsError;
  if (!isBusy && !isUnreachable) return cause;
  return new ServiceError('unavailable', 'The search engine does not answer.', {
    retryAfterMs: RETRY_AFTER_MS,
    cause,
  });
}

/** The same of a search. */
export function searchFailure(cause: unknown): unknown {
  // Of the adapter's queries only the depth may exceed a limit: operators may allow more than Elasticsearch
  // does.
  if (cause instanceof errors.ResponseError && cause.statusCode === 400) {
    return tooComplex('The search engine accepts no query with this depth of nested parentheses', 0);
  }
  return engineFailure(cause);
}

/** Whether Elasticsearch has answered that it cannot do it now. */
function isTemporary(cause: unknown): boolean {
  if (!(cause instanceof errors.ResponseError)) return false;
  const status = cause.statusCode ?? 500;
  return TEMPORARY.has(status) || status >= 500;
}
