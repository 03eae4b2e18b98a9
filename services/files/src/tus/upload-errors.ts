import { ServiceError } from '@kr/service-error';
import { HttpRefusal } from '../content/http-refusal.ts';

export const TUS_VERSION = '1.0.0';

export function uploadExpired(): HttpRefusal {
  return new HttpRefusal(410, 'The upload has expired.', { code: 'upload_expired' });
}

/** The status is that of the protocol (tus 1.0, checksum extension). */
export function checksumMismatch(): HttpRefusal {
  return new HttpRefusal(460, 'The bytes do not match Upload-Checksum.', { code: 'checksum_mismatch' });
}

export function unsupportedVersion(): HttpRefusal {
  return new HttpRefusal(412, `The header Tus-Resumable must be ${TUS_VERSION}.`, {
    code: 'tus_version_unsupported',
    headers: { 'tus-version': TUS_VERSION },
  });
}

export function unsupportedType(): HttpRefusal {
  return new HttpRefusal(
    415,
    "Invalid 'Content-Type' header. Expected one of: application/offset+octet-stream",
  );
}

export function noSuchUpload(): ServiceError {
  return new ServiceError('not_found', 'There is no such upload.', { code: 'upload_not_found' });
}

export function uploadInUse(): ServiceError {
  return new ServiceError('conflict', 'Another request is writing to this upload.', {
    code: 'upload_in_use',
    retryAfterMs: 1_000,
  });
}

export function offsetMismatch(): ServiceError {
  return new ServiceError('conflict', 'Upload-Offset is not where the upload ends.', {
    code: 'upload_offset_mismatch',
  });
}

/** @param maxBytes what the whole upload may have, by its own length or by ours */
export function uploadTooLarge(maxBytes: number): ServiceError {
  return new ServiceError('too_large', `The upload may have at most ${maxBytes} bytes.`, {
    code: 'upload_too_large',
  });
}
