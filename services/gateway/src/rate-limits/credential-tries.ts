import { hash } from 'node:crypto';
import { ServiceError } from '@kr/service-error';
import { LRUCache } from 'lru-cache';
import type { Caller, Credentials } from '../caller.ts';
import type { Origin } from '../http/client-address.ts';
import type { HeaderSink, Limit } from './limit.ts';

/** Who showed good credentials is not held up by failures of others for so long, in milliseconds. */
const KNOWN_MS = 3_600_000;

export interface Try {
  request: Origin;
  response: HeaderSink;
  credentials: Credentials;
}

/**
 * Looks credentials up. Those that turn out to be worth nothing count for the address they came from.
 *
 * @throws ServiceError
 *   - `rate_limited`: so many of the address were worth nothing that these, not known to be good, are not looked at
 *   - whatever the look-up throws
 */
export type TryCredentials = (tried: Try, lookUp: () => Promise<Caller>) => Promise<Caller>;

export interface CredentialTriesDeps {
  limit: Limit | undefined;
  clientAddressOf: (request: Origin) => string;
  /** Milliseconds on a clock that never goes back. */
  elapsed: () => number;
}

/** How often one address may be wrong about who it is. */
export function credentialTries({ limit, clientAddressOf, elapsed }: CredentialTriesDeps): TryCredentials {
  if (limit === undefined) return (_tried, lookUp) => lookUp();
  /** By digest, until when. */
  const good = new LRUCache<string, number>({ max: 10_000 });

  return async ({ request, response, credentials }, lookUp) => {
    const given = givenIn(credentials);
    if (given.length === 0) return lookUp();
    const address = clientAddressOf(request);
    const digest = hash('sha256', JSON.stringify(given), 'base64');
    const failed = (): void => {
      good.delete(digest);
      limit.charge(address, 1, response);
    };

    if ((good.get(digest) ?? 0) <= elapsed()) limit.assertLeft(address, response);
    const caller = await lookUp().catch((thrown: unknown) => {
      // What cannot be told is no failure.
      if (ServiceError.from(thrown).kind === 'unauthenticated') failed();
      throw thrown;
    });
    if (caller.hasUselessToken) failed();
    else good.set(digest, elapsed() + KNOWN_MS);
    return caller;
  };
}

function givenIn({ authorization, query }: Credentials): [string, string][] {
  const all = [
    ['authorization', authorization],
    ['access_token', query.get('access_token')],
    ['token', query.get('token')],
  ] as const;
  return all.flatMap(([name, value]) => (value === undefined || value === null ? [] : [[name, value]]));
}
