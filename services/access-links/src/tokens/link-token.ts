import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** The parts of a link that its token is derived from. */
export interface TokenSource {
  linkId: string;
  nonce: string;
  keyId: string;
}

/** Derives tokens and recognises them. A token is never stored: the row and a key make it again. */
export interface TokenMint {
  /** The key that new links are made with. */
  readonly keyId: string;
  /** Undefined for a link that was made with a key that is not configured any more: it opens nothing. */
  tokenOf(source: TokenSource): string | undefined;
  /** Whether this is the link's own token, to the last character. */
  isTokenOf(token: string, source: TokenSource): boolean;
}

/** `previousKeys` still open the links that were made with them. */
export function createTokenMint(key: string, previousKeys: readonly string[] = []): TokenMint {
  const keys = new Map([key, ...previousKeys].map((secret) => [keyIdOf(secret), secret]));
  const tokenOf = ({ linkId, nonce, keyId }: TokenSource) => {
    const secret = keys.get(keyId);
    if (secret === undefined) return undefined;
    const mac = createHmac('sha256', secret).update(`access-link|${linkId}|${nonce}`).digest('base64url');
    return `kl1_${Buffer.from(linkId.replaceAll('-', ''), 'hex').toString('base64url')}_${keyId}_${mac}`;
  };
  return {
    keyId: keyIdOf(key),
    tokenOf,
    isTokenOf: (token, source) => {
      const expected = tokenOf(source);
      if (expected === undefined) return false;
      const [given, own] = [Buffer.from(token), Buffer.from(expected)];
      return given.length === own.length && timingSafeEqual(given, own);
    },
  };
}

// The parts have fixed lengths because the alphabet of base64url has the underscore too.
const TOKEN = /^kl1_([A-Za-z0-9_-]{22})_[0-9a-f]{8}_[A-Za-z0-9_-]{43}$/;

/** The id of the link that a token claims to be of; nothing when it has not the form of a token. */
export function claimedLinkId(token: string): string | undefined {
  const id = TOKEN.exec(token)?.[1];
  if (id === undefined) return undefined;
  return Buffer.from(id, 'base64url')
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** Identifies a key without revealing it, so that keys need no numbers. */
function keyIdOf(key: string): string {
  return createHash('sha256').update(`access-link key id|${key}`).digest('hex').slice(0, 8);
}
