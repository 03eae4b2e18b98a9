import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { type ServiceError as GrpcError, Metadata, type StatusObject, status } from '@grpc/grpc-js';
import { errorDetailCodec } from '@kr/contracts';
import { ERROR_KINDS, ServiceError } from '@kr/service-error';
import { fromErrorDetail, toErrorDetail } from './error-detail.ts';

const DETAIL = 'kr-error-bin';
// The same, deflated: HTTP/2 peers take header blocks of 64 KiB, and a package may have hundreds of resources with
// problems of their own.
const DEFLATED_DETAIL = 'kr-error-deflated-bin';
const DEFLATE_FROM_BYTES = 2_048;
const MOST_HEADER_BYTES = 44_000;
const MOST_DETAIL_BYTES = 16 * 1024 * 1024;

/** What a handler threw, as the status of its call. */
export function toStatus(thrown: unknown): Partial<StatusObject> {
  const error = ServiceError.from(thrown);
  const metadata = new Metadata();
  metadata.set(...packDetail(error));
  return { code: ERROR_KINDS[error.kind].grpc, details: error.message.slice(0, 200), metadata };
}

/** What a call failed with, as the callee threw it; or `unavailable` when no callee answered in time. */
export function fromStatus(failure: GrpcError): ServiceError {
  const detail = findDetail(failure.metadata);
  if (detail !== undefined) return fromErrorDetail(errorDetailCodec.decode(detail));
  switch (failure.code) {
    case status.UNAVAILABLE:
    case status.DEADLINE_EXCEEDED:
    case status.CANCELLED:
      return unavailable(failure);
    default:
      return new ServiceError('internal', 'Internal server error.', { cause: failure });
  }
}

/** A peer that cannot be reached, or not in time. */
export function unavailable(cause: unknown): ServiceError {
  return new ServiceError('unavailable', 'The service is temporarily unavailable.', {
    retryAfterMs: 1_000,
    cause,
  });
}

function packDetail(error: ServiceError): [string, Buffer] {
  const detail = Buffer.from(errorDetailCodec.encode(toErrorDetail(error)));
  if (detail.length < DEFLATE_FROM_BYTES) return [DETAIL, detail];
  const deflated = deflateRawSync(detail);
  if (deflated.length <= MOST_HEADER_BYTES) return [DEFLATED_DETAIL, deflated];
  // Better a part of the issues than an answer that cannot be sent.
  const { kind, message, issues, code, retryAfterMs } = error;
  return packDetail(
    new ServiceError(kind, message, {
      issues: issues.slice(0, Math.floor(issues.length / 2)),
      code,
      retryAfterMs,
    }),
  );
}

function findDetail(metadata: Metadata | undefined): Buffer | undefined {
  const [plain] = metadata?.get(DETAIL) ?? [];
  if (Buffer.isBuffer(plain)) return plain;
  const [deflated] = metadata?.get(DEFLATED_DETAIL) ?? [];
  return Buffer.isBuffer(deflated)
    ? inflateRawSync(deflated, { maxOutputLength: MOST_DETAIL_BYTES })
    : undefined;
}
