import { createHash, type Hash } from 'node:crypto';
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
  const begun = (name: 'md5' | 'sha256') => (names.includes(name) ? createHash(name) : undefined);
  return hashFrom({
    md5: begun('md5'),
    sha256: begun('sha256'),
    crc: names.includes('crc32') ? 0 : undefined,
  });
}

/** The hashes that are wanted, after the same bytes. */
interface Hashes {
  md5: Hash | undefined;
  sha256: Hash | undefined;
  crc: number | undefined;
}

function hashFrom({ md5, sha256, crc: first }: Hashes): LocalHash {
  let crc = first;
  return {
    update: (bytes) => {
      md5?.update(bytes);
      sha256?.update(bytes);
      if (crc !== undefined) crc = crc32(bytes, crc);
    },
    copy: () => hashFrom({ md5: md5?.copy(), sha256: sha256?.copy(), crc }),
    digests: () => ({
      ...(md5 !== undefined && { md5: md5.copy().digest('hex') }),
      ...(sha256 !== undefined && { sha256: sha256.copy().digest('hex') }),
      ...(crc !== undefined && { crc32: crc }),
    }),
  };
}
