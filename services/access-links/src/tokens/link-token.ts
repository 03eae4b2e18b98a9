import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** The parts of a link that its token is derived from. */
export interface TokenSource {
  linkId: string;
  nonce: string;
  keyId: string;
}

/** Derives and verifies tokens. They are never stored: a row and a key determine them. */
export interface TokenMint {
  /** Id of the key for new links. */
  readonly keyId: string;
  /** Undefined if the link's key is no longer configured: the link is invalid. */
  tokenOf(source: TokenSource): string | undefined;
  /** Whether this is the link's token. */
  isTokenOf(token: string, source: TokenSource): boolean;
}

/** Links made with `previousKeys` stay valid. */
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
      const [actual, own] = [Buffer.from(token), Buffer.from(expected)];
      return actual.length === own.length && timingSafeEqual(actual, own);
    },
  };
}

// The parts have fixed lengths because the alphabet of base64url has the underscore too.
const TOKEN = /^kl1_([A-Za-z0-9_-]{22})_[0-9a-f]{8}_[A-Za-z0-9_-]{43}$/;

/** The link id in a token; undefined if the text is no token. */
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
