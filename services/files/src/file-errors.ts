import { ServiceError } from '@kr/service-error';

// The messages that clients of the public API compare.

export function noSuchFile(entityId: string, key: string): ServiceError {
  return new ServiceError('not_found', `Record '${entityId}' has no file '${key}'.`);
}

export function fileTooLarge(maxFileBytes: number): ServiceError {
  return new ServiceError('too_large', 'Maximum file size exceeded.', {
    code: 'file_too_large',
    issues: [{ field: 'size', messages: [`A file may have at most ${maxFileBytes} bytes.`] }],
  });
}

export function bucketImmutable(): ServiceError {
  return new ServiceError('forbidden', 'Bucket is locked for modifications.', { code: 'files_immutable' });
}

export function bucketLocked(): ServiceError {
  return new ServiceError('conflict', 'The draft is being published.', {
    code: 'draft_locked',
    retryAfterMs: 1_000,
  });
}

/** A validation failure of one field, in the words of the public API. */
export function invalidField(field: string, message: string): ServiceError {
  return new ServiceError('invalid', 'A validation error occurred.', {
    issues: [{ field, messages: [message] }],
  });
}
