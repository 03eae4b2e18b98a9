import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** The digests of an object's bytes, in lower-case hexadecimal digits. */
export interface Digests {
  md5: string;
  /** Null where it was not computed. */
  sha256: string | null;
  /** As archives have it: 32 bits, not signed. */
  crc32: number;
}

/** The digests of bytes while they pass. */
export interface ContentHash {
  /** Resolves when the bytes may change. They count in the order of the calls. */
  update(bytes: Uint8Array): Promise<void>;
  /** One that goes on from here by itself. */
  copy(): ContentHash;
  digests(): Promise<Digests>;
  /** Ends the use of this hash; may be called twice. */
  drop(): void;
}

/** @param expectedBytes the declared number, if known */
export type NewContentHash = (expectedBytes?: number) => ContentHash;

export type DigestName = keyof Digests;

/** Some digests of bytes while they pass, computed where this is called. */
export interface LocalHash {
  update(bytes: Uint8Array): void;
  copy(): LocalHash;
  digests(): Partial<Digests>;
}

export function localHash(names: readonly DigestName[]): LocalHash {
  return hashOf(names.map((name) => [name, name === 'crc32' ? crcFrom(0) : cryptoHash(createHash(name))]));
}

interface OneHash {
  update(bytes: Uint8Array): void;
  copy(): OneHash;
  digest(): string | number;
}

function hashOf(named: readonly (readonly [DigestName, OneHash])[]): LocalHash {
  return {
    update: (bytes) => {
      for (const [, hash] of named) hash.update(bytes);
    },
    copy: () => hashOf(named.map(([name, hash]) => [name, hash.copy()])),
    digests: () => Object.fromEntries(named.map(([name, hash]) => [name, hash.digest()])),
  };
}

function cryptoHash(hash: ReturnType<typeof createHash>): OneHash {
  return {
    update: (bytes) => void hash.update(bytes),
    copy: () => cryptoHash(hash.copy()),
    digest: () => hash.copy().digest('hex'),
  };
}

function crcFrom(first: number): OneHash {
  let crc = first;
  return {
    update: (bytes) => {
      crc = crc32(bytes, crc);
    },
    copy: () => crcFrom(crc),
    digest: () => crc,
  };
}
