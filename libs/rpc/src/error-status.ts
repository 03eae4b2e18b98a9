import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { type ServiceError as GrpcError, Metadata, type StatusObject, status } from '@grpc/grpc-js';
import { errorDetailCodec } from '@kr/contracts';
import { ERROR_KINDS, ServiceError } from '@kr/service-error';
import { fromErrorDetail, toErrorDetail } from './error-detail.ts';

const DETAIL = 'kr-error-bin';
// The same, deflated: HTTP/2 peers accept header blocks of 64 KiB, and a package may have hundreds of
// resources with separate problems.
const DEFLATED_DETAIL = 'kr-error-deflated-bin';
const DEFLATE_FROM_BYTES = 2_048;
const MAX_HEADER_BYTES = 44_000;
const MAX_DETAIL_BYTES = 16 * 1024 * 1024;
/** The library's message; the status alone has other meanings too. */
const TOO_LARGE = 'Received message larger than max';

/** The status of a call for an error thrown by its handler. */
export function toStatus(thrown: unknown): Partial<StatusObject> {
  const error = ServiceError.from(thrown);
  const metadata = new Metadata();
  metadata.set(...packDetail(error));
  return { code: ERROR_KINDS[error.kind].grpc, details: error.message.slice(0, 200), metadata };
}

/**
 * The error of a call as the callee threw it. `unavailable` when no callee answered in time, with the deadline
 * if it is the default one, in milliseconds; `invalid` with the code `answer_too_large` when the response exceeds the size
 * of a message.
 */
export function fromStatus(failure: GrpcError, usualMs?: number): ServiceError {
  const detail = findDetail(failure.metadata);
  if (detail !== undefined) return fromErrorDetail(errorDetailCodec.decode(detail));
  switch (failure.code) {
    case status.DEADLINE_EXCEEDED:
      return usualMs === undefined ? unavailable(failure) : late(failure, usualMs);
    case status.UNAVAILABLE:
    case status.CANCELLED:
      return unavailable(failure);
    case status.RESOURCE_EXHAUSTED:
      if (failure.details.startsWith(TOO_LARGE)) return tooLarge(failure);
      return unexpected(failure);
    default:
      return unexpected(failure);
  }
}

function unexpected(cause: unknown): ServiceError {
  return new ServiceError('internal', 'Internal server error.', { cause });
}

/** For a page of large documents, which the reader can request in smaller pieces. */
function tooLarge(cause: unknown): ServiceError {
  return new ServiceError('invalid', 'The response would be too large. Request a smaller `size`.', {
    code: 'answer_too_large',
    cause,
  });
}

/** The peer cannot be reached, or did not answer in time. */
export function unavailable(cause: unknown): ServiceError {
  return new ServiceError('unavailable', 'The service is temporarily unavailable.', {
    retryAfterMs: 1_000,
    cause,
  });
}

function late(cause: unknown, ms: number): ServiceError {
  return new ServiceError('unavailable', `A service did not answer within ${ms} ms.`, {
    retryAfterMs: 1_000,
    cause,
  });
}

function packDetail(error: ServiceError): [string, Buffer] {
  const detail = Buffer.from(errorDetailCodec.encode(toErrorDetail(error)));
  if (detail.length < DEFLATE_FROM_BYTES) return [DETAIL, detail];
  const deflated = deflateRawSync(detail);
  if (deflated.length <= MAX_HEADER_BYTES) return [DEFLATED_DETAIL, deflated];
  // Too large for the headers of a response: keep a part of the issues, or of the message.
  const { kind, message, issues, code, retryAfterMs, currentRevision, usedMs } = error;
  const details = { code, retryAfterMs, currentRevision, usedMs };
  const half = (length: number) => Math.floor(length / 2);
  return packDetail(
    issues.length > 0
      ? new ServiceError(kind, message, { ...details, issues: issues.slice(0, half(issues.length)) })
      : new ServiceError(kind, message.slice(0, half(message.length)), details),
  );
}

function findDetail(metadata: Metadata | undefined): Buffer | undefined {
  const [plain] = metadata?.get(DETAIL) ?? [];
  if (Buffer.isBuffer(plain)) return plain;
  const [deflated] = metadata?.get(DEFLATED_DETAIL) ?? [];
  return Buffer.isBuffer(deflated)
    ? inflateRawSync(deflated, { maxOutputLength: MAX_DETAIL_BYTES })
    : undefined;
}
