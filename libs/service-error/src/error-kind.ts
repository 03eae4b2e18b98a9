/**
 * The closed list of ways a request can fail, each with its gRPC status code (google.rpc.Code) and its HTTP status
 * (RFC 9110, RFC 6585, RFC 4918). Several kinds share a gRPC code, so between our services the kind itself travels
 * beside it (libs/rpc). Adding one is a contract change.
 */
export const ERROR_KINDS = {
  unauthenticated: { grpc: 16, http: 401 },
  forbidden: { grpc: 7, http: 403 },
  not_found: { grpc: 5, http: 404 },
  invalid: { grpc: 3, http: 400 },
  not_publishable: { grpc: 9, http: 400 },
  gone: { grpc: 5, http: 410 },
  conflict: { grpc: 10, http: 409 },
  precondition_failed: { grpc: 9, http: 412 },
  too_large: { grpc: 8, http: 413 },
  unprocessable: { grpc: 3, http: 422 },
  rate_limited: { grpc: 8, http: 429 },
  unavailable: { grpc: 14, http: 503 },
  insufficient_storage: { grpc: 8, http: 507 },
  internal: { grpc: 13, http: 500 },
} as const satisfies Record<string, { grpc: number; http: number }>;

export type ErrorKind = keyof typeof ERROR_KINDS;

/** Type guard for kinds received over the wire. */
export function isErrorKind(name: string): name is ErrorKind {
  return Object.hasOwn(ERROR_KINDS, name);
}
