import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Principal } from '@kr/caller';
import { invalid } from '../http/invalid.ts';

const KEY = /^[\x20-\x7e]{1,255}$/;

/** Credentials in the URL are not part of the request's identity. */
const CREDENTIALS = ['access_token', 'token'];

/** The identity of a keyed request: its caller and its content. */
export interface KeyedRequest {
  /** SHA-256 of the user, or else of the first access link: stored answers are bounded for each of them. */
  owner: Uint8Array<ArrayBuffer>;
  /** SHA-256 of caller and key. */
  hash: Uint8Array<ArrayBuffer>;
  /** SHA-256 of method, address and body. */
  fingerprint: Uint8Array<ArrayBuffer>;
}

/**
 * The key of a request; undefined when it has none, or has no caller.
 * @throws ServiceError `invalid`: the header is no key
 */
export function keyedRequest(
  headers: IncomingHttpHeaders,
  { method, path, query, body, principal }: RequestFacts,
): KeyedRequest | undefined {
  const key = headers['idempotency-key'];
  const caller = credentialsKey(principal);
  if (key === undefined || caller === undefined) return undefined;
  if (typeof key !== 'string' || !KEY.test(key))
    throw invalid(
      'idempotency_key',
      'The header Idempotency-Key must be 1 to 255 printable ASCII characters.',
    );
  return {
    owner: digest(principal.userId ?? firstLink(principal)),
    hash: digest(caller, key),
    fingerprint: digest(method, path, withoutCredentials(query), body),
  };
}

/** The same for every execution of one keyed request, and for no other. */
export function creationKey({ hash, fingerprint }: Pick<KeyedRequest, 'hash' | 'fingerprint'>): Buffer {
  return Buffer.from(digest(Buffer.from(hash), Buffer.from(fingerprint)));
}

export interface RequestFacts {
  method: string;
  path: string;
  query: URLSearchParams;
  body: Buffer;
  principal: Pick<Principal, 'userId' | 'isAdmin' | 'scopes' | 'grants'>;
}

/** All rights of the credentials: an answer is not replayed to a request with other scopes or access links. */
function credentialsKey({ userId, isAdmin, scopes, grants }: RequestFacts['principal']): string | undefined {
  if (userId === null && grants.length === 0) return undefined;
  const links = grants.map(({ linkId, permission }) => `${linkId} ${permission}`).sort();
  return JSON.stringify([userId, isAdmin, [...scopes].sort(), links]);
}

function firstLink({ grants }: RequestFacts['principal']): string {
  return grants.map(({ linkId }) => linkId).sort()[0] ?? '';
}

function withoutCredentials(query: URLSearchParams): string {
  const identity = new URLSearchParams(query);
  for (const name of CREDENTIALS) identity.delete(name);
  return identity.toString();
}

/** Of each part's length too, so that no two lists of parts are the same bytes. */
function digest(...parts: readonly (string | Buffer)[]): Uint8Array<ArrayBuffer> {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:`).update(part);
  return new Uint8Array(hash.digest());
}
