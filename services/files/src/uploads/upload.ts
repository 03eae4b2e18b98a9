import { ServiceError } from '@kr/service-error';
import { HttpRefusal } from '../http/errors.ts';

/** A resumable upload into one entry; its bytes become the object of the same id. */
export interface Upload {
  id: string;
  entityId: string;
  key: string;
  /** The owner of the entity; uploads of one owner reserve bytes one after another. */
  ownerId: string | null;
  /** The length of the whole upload; null until the client declares it. */
  lengthBytes: number | null;
  /** Received bytes that survive a power cut. */
  receivedBytes: number;
  /** The header Upload-Metadata unchanged; empty when absent. */
  metadata: string;
  /** When it expires, unless it is finished. */
  expiresAt: Date;
  /** Whether its bytes have become the content of the entry. */
  isFinished: boolean;
}

export function isComplete({ lengthBytes, receivedBytes }: Upload): boolean {
  return receivedBytes === lengthBytes;
}

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

/** The digest that a client sends for the bytes of one request. */
export interface UploadChecksum {
  algorithm: ChecksumAlgorithm;
  digest: Buffer;
}

/** In the order of our preference. */
export const CHECKSUM_ALGORITHMS = ['sha256', 'sha1', 'md5'] as const;
export type ChecksumAlgorithm = (typeof CHECKSUM_ALGORITHMS)[number];

const HEADER = /^([a-z0-9]+) ([A-Za-z0-9+/]+={0,2})$/;
const DIGEST_BYTES: Readonly<Record<ChecksumAlgorithm, number>> = { sha256: 32, sha1: 20, md5: 16 };

/**
 * The header Upload-Checksum: an algorithm and, in Base64, a digest.
 *
 * @throws ServiceError `invalid`: malformed, or of an algorithm that is not offered (`checksum_unsupported`)
 */
export function uploadChecksum(header: string | undefined): UploadChecksum | undefined {
  if (header === undefined) return undefined;
  const [, name = '', encoded = ''] = HEADER.exec(header) ?? [];
  if (name === '') throw malformed('Not an algorithm and a Base64 digest, with a space between them.');
  const algorithm = CHECKSUM_ALGORITHMS.find((known) => known === name);
  if (algorithm === undefined) throw unsupported();
  const digest = Buffer.from(encoded, 'base64');
  const size = DIGEST_BYTES[algorithm];
  if (digest.length !== size) throw malformed(`A digest of ${algorithm} has ${size} bytes.`);
  return { algorithm, digest };
}

function malformed(message: string): ServiceError {
  return new ServiceError('invalid', "Invalid 'Upload-Checksum' header.", {
    issues: [{ field: 'upload_checksum', messages: [message] }],
  });
}

function unsupported(): ServiceError {
  return new ServiceError('invalid', "Invalid 'Upload-Checksum' header.", {
    code: 'checksum_unsupported',
    issues: [{ field: 'upload_checksum', messages: [`Expected one of: ${CHECKSUM_ALGORITHMS.join(', ')}`] }],
  });
}
