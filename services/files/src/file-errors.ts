import { ServiceError } from '@kr/service-error';

// The messages that clients of the public API compare.

export function noSuchFile(entityId: string, key: string): ServiceError {
  return new ServiceError('not_found', `Record '${entityId}' has no file '${key}'.`);
}

export function fileExists(key: string): ServiceError {
  return new ServiceError('invalid', `File with key ${key} already exists.`, { code: 'file_exists' });
}

export function fileWithoutContent(key: string): ServiceError {
  return new ServiceError('invalid', `File with key ${key} has no content.`, {
    code: 'file_without_content',
  });
}

export function fileTooLarge(maxFileBytes: number): ServiceError {
  return new ServiceError('too_large', 'Maximum file size exceeded.', {
    code: 'file_too_large',
    issues: [{ field: 'size', messages: [`A file may have at most ${maxFileBytes} bytes.`] }],
  });
}

/** @param leftBytes the part of the limit that is neither used nor reserved */
export function entityQuotaExceeded(limitBytes: number, leftBytes: number): ServiceError {
  const message = `The files of one entity may have at most ${limitBytes} bytes, of which ${leftBytes} are left.`;
  return new ServiceError('too_large', 'Bucket quota exceeded.', {
    code: 'entity_quota_exceeded',
    issues: [{ field: 'size', messages: [message] }],
  });
}

/**
 * @param unreferencedBytes stored bytes of replaced or deleted files, as found by a collection
 * @param removedAfter when the first of these are removed; null if there are none
 */
export function userQuotaExceeded({
  limitBytes,
  leftBytes,
  unreferencedBytes,
  removedAfter,
}: {
  limitBytes: number;
  leftBytes: number;
  unreferencedBytes: number;
  removedAfter: Date | null;
}): ServiceError {
  const unreferenced =
    removedAfter === null
      ? 'Replaced and deleted files count until they are removed from the store.'
      : `${unreferencedBytes} bytes of replaced and deleted files still count; the first are removed after ${minuteOf(removedAfter)}.`;
  const limit = `The files of this user may have at most ${limitBytes} bytes, of which ${leftBytes} are left.`;
  return new ServiceError('too_large', 'User quota exceeded.', {
    code: 'user_quota_exceeded',
    issues: [{ field: 'size', messages: [`${limit} ${unreferenced}`] }],
  });
}

function minuteOf(instant: Date): string {
  return `${new Date(Math.ceil(instant.getTime() / 60_000) * 60_000).toISOString().slice(0, 16)}Z`;
}

export function lengthMismatch(): ServiceError {
  return new ServiceError('invalid', 'Content-Length does not match file size.', {
    code: 'file_size_mismatch',
  });
}

export function reservationLost(): ServiceError {
  return new ServiceError('unavailable', 'The upload has lost the room that was promised to it.', {
    retryAfterMs: 1_000,
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
