import { ServiceError } from '@kr/service-error';

/** There are no bytes where an object is said to be. */
export class MissingObject extends Error {
  override readonly name = 'MissingObject';

  constructor(id: string, options?: ErrorOptions) {
    super(`there is no object ${id}`, options);
  }
}

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
