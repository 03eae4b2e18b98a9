import type { Route } from '../http/endpoint.ts';

/** What a request keeps busy: nothing beyond this process; services, for little or for much; or a line, for long. */
export type Load = 'none' | 'little' | 'much' | 'transfer';

/** What this process answers by itself, for probes and people who look around. */
const OWN = /^\/(?:api\/(?:ping|openapi\.(?:json|yaml)|vocabularies(?:\/.*)?))?$/;
const BYTES = /\/(?:content|files-archive)$/;
const READS = new Set(['GET', 'HEAD', 'OPTIONS']);

/** What a request keeps busy, by the route that answers it. */
export function loadOf({ method, path, takes, weight }: Omit<Route, 'endpoint' | 'auth' | 'gives'>): Load {
  if (OWN.test(path)) return 'none';
  if (takes === 'bytes' || takes === 'chunk' || BYTES.test(path)) return 'transfer';
  return READS.has(method) && weight === undefined ? 'little' : 'much';
}
