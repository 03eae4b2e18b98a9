import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** What the bytes of an object hash to; texts are lower-case hexadecimal digits. */
export interface Digests {
  md5: string;
  /** Null where it was not computed. */
  sha256: string | null;
  /** As archives have it: 32 bits, not signed. */
  crc32: number;
}

/** The digests of bytes while they pass. */
export interface ContentHash {
  update(bytes: Uint8Array): void;
  /** One that goes on from here by itself. */
  copy(): ContentHash;
  /** Ends the use of this hash. */
  digests(): Digests;
}

export type NewContentHash = () => ContentHash;

/** Makes hashes that are all of the same digests: of md5 and CRC-32 always, and of sha256 when it is wanted. */
export function contentHashes({ sha256 }: { sha256: boolean }): NewContentHash {
  return () => contentHash(createHash('md5'), sha256 ? createHash('sha256') : undefined, 0);
}

type Hash = ReturnType<typeof createHash>;

function contentHash(md5: Hash, sha256: Hash | undefined, firstCrc32: number): ContentHash {
  let crc = firstCrc32;
  return {
    update: (bytes) => {
      crc = crc32(bytes, crc);
      md5.update(bytes);
      sha256?.update(bytes);
    },
    copy: () => contentHash(md5.copy(), sha256?.copy(), crc),
    digests: () => ({ md5: md5.digest('hex'), sha256: sha256?.digest('hex') ?? null, crc32: crc }),
  };
}
