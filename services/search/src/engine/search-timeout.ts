import { ServiceError } from '@kr/service-error';

export function searchTimeout(cause?: unknown): ServiceError {
  return new ServiceError('unavailable', 'The search took too long.', {
    code: 'search_timeout',
    retryAfterMs: 1_000,
    cause,
  });
}
