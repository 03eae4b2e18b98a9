import { ServiceError } from '@kr/service-error';

export function storeFull(cause: unknown): ServiceError {
  return new ServiceError('insufficient_storage', 'There is not enough space to store the file.', { cause });
}

/** @param cause why the store cannot be asked just now */
export function storeAway(cause: unknown): ServiceError {
  return new ServiceError('unavailable', 'The storage of files cannot be reached.', {
    retryAfterMs: 1_000,
    cause,
  });
}
