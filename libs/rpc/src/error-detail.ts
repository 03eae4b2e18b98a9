import type { ErrorDetail, ErrorDetail__Output } from '@kr/contracts';
import { isErrorKind, ServiceError } from '@kr/service-error';

const NOTHING = Buffer.alloc(0);

/** A ServiceError as a message; any other error becomes `internal` without details. */
export function toErrorDetail(thrown: unknown): ErrorDetail {
  const { kind, message, issues, code, retryAfterMs, currentRevision, usedMs, members } =
    ServiceError.from(thrown);
  return {
    kind,
    message,
    issues: issues.map(({ field, messages, record }) => ({
      field,
      messages: [...messages],
      record: record ?? '',
    })),
    code: code ?? '',
    retryAfterMs: retryAfterMs ?? 0,
    currentRevision: String(currentRevision ?? 0),
    usedMs: usedMs ?? 0,
    membersJson: members === undefined ? NOTHING : Buffer.from(JSON.stringify(members)),
  };
}

/** The ServiceError of a message; an unknown kind becomes `internal`. */
export function fromErrorDetail(detail: ErrorDetail__Output): ServiceError {
  return new ServiceError(isErrorKind(detail.kind) ? detail.kind : 'internal', detail.message, {
    issues: detail.issues.map(({ field, messages, record }) =>
      record === '' ? { field, messages } : { field, messages, record },
    ),
    code: detail.code === '' ? undefined : detail.code,
    retryAfterMs: detail.retryAfterMs === 0 ? undefined : detail.retryAfterMs,
    currentRevision: Number(detail.currentRevision) === 0 ? undefined : Number(detail.currentRevision),
    usedMs: detail.usedMs === 0 ? undefined : detail.usedMs,
    members: detail.membersJson.length === 0 ? undefined : JSON.parse(detail.membersJson.toString()),
  });
}
