import { ServiceError } from '@kr/service-error';

/** What a client says that the bytes of one request hash to. */
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
