import { hash } from 'node:crypto';
import { ServiceError } from '@kr/service-error';
import { LRUCache } from 'lru-cache';
import type { AuthenticatedCaller, Credentials } from '../caller.ts';
import type { Origin } from '../http/client-address.ts';
import type { HeaderSink, Limit } from './limit.ts';

/** Milliseconds for which valid credentials are exempt from failures of others at the same address. */
const EXEMPT_MS = 3_600_000;

export interface Try {
  request: Origin;
  response: HeaderSink;
  credentials: Credentials;
}

/**
 * Looks credentials up. Invalid credentials count for the address of the request.
 * @throws ServiceError `rate_limited`: this address has too many recent failures, and these credentials were not valid recently; or the
 * errors of the look-up
 */
export type TryCredentials = (
  tried: Try,
  lookUp: () => Promise<AuthenticatedCaller>,
) => Promise<AuthenticatedCaller>;

export interface FailedLoginLimitDeps {
  limit: Limit | undefined;
  clientAddressOf: (request: Origin) => string;
  /** Milliseconds on a clock that never goes back. */
  elapsed: () => number;
}

/** Limits the requests with invalid credentials per address. */
export function failedLoginLimit({ limit, clientAddressOf, elapsed }: FailedLoginLimitDeps): TryCredentials {
  if (limit === undefined) return (_tried, lookUp) => lookUp();
  /** By digest of the credentials. */
  const validUntil = new LRUCache<string, number>({ max: 10_000 });

  return async ({ request, response, credentials }, lookUp) => {
    const presented = credentialsIn(credentials);
    if (presented.length === 0) return lookUp();
    const address = clientAddressOf(request);
    const digest = hash('sha256', JSON.stringify(presented), 'base64');
    const failed = (): void => {
      validUntil.delete(digest);
      limit.penalize(address, 1, response);
    };

    if ((validUntil.get(digest) ?? 0) <= elapsed()) limit.assertLeft(address, response);
    const caller = await lookUp().catch((thrown: unknown) => {
      // An unknown result is no failure.
      if (ServiceError.from(thrown).kind === 'unauthenticated') failed();
      throw thrown;
    });
    if (caller.hasInvalidToken) failed();
    else validUntil.set(digest, elapsed() + EXEMPT_MS);
    return caller;
  };
}

function credentialsIn({ authorization, query }: Credentials): [string, string][] {
  const all = [
    ['authorization', authorization],
    ['access_token', query.get('access_token')],
    ['token', query.get('token')],
  ] as const;
  return all.flatMap(([name, value]) => (value === undefined || value === null ? [] : [[name, value]]));
}
