import type { Metadata } from '@grpc/grpc-js';

/** Metadata entries of a call: the name of the calling process, and the principal, signed by it. */
export const CALLER_METADATA = 'kr-caller';
export const PRINCIPAL_METADATA = 'kr-principal';

/** The trace headers of a received call. */
export function traceOf(metadata: Metadata): Record<string, string> {
  const entries = ['traceparent', 'tracestate'].map((name) => [name, metadata.get(name)[0]]);
  return Object.fromEntries(entries.filter(([, value]) => typeof value === 'string'));
}
