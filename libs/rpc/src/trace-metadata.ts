import type { Metadata } from '@grpc/grpc-js';

const TRACE_HEADERS = ['traceparent', 'tracestate'] as const;

/** The trace headers of a received call. */
export function traceOf(metadata: Metadata): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const name of TRACE_HEADERS) {
    const [value] = metadata.get(name);
    if (typeof value === 'string') headers[name] = value;
  }
  return headers;
}
