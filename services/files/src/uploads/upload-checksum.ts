import { ServiceError } from '@kr/service-error';
import type { UploadChecksum } from './receive-bytes.ts';

type Algorithm = UploadChecksum['algorithm'];

const DIGEST_BYTES: Readonly<Record<Algorithm, number>> = { sha256: 32, sha1: 20, md5: 16 };

/** In the order of our preference. */
export const CHECKSUM_ALGORITHMS = Object.keys(DIGEST_BYTES) as readonly Algorithm[];

const INVALID = "Invalid 'Upload-Checksum' header.";
const HEADER = /^([a-z0-9]+) ([A-Za-z0-9+/]+={0,2})$/;

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
  if (algorithm === undefined)
    throw new ServiceError('invalid', INVALID, {
      code: 'checksum_unsupported',
      issues: [issue(`Expected one of: ${CHECKSUM_ALGORITHMS.join(', ')}`)],
    });
  const digest = Buffer.from(encoded, 'base64');
  const size = DIGEST_BYTES[algorithm];
  if (digest.length !== size) throw malformed(`A digest of ${algorithm} has ${size} bytes.`);
  return { algorithm, digest };
}

function malformed(message: string): ServiceError {
  return new ServiceError('invalid', INVALID, { issues: [issue(message)] });
}

function issue(message: string) {
  return { field: 'upload_checksum', messages: [message] };
}
