/** Bytes on their way into parts of one size. */
export interface GatheredParts {
  /** Takes a copy of what comes and gives the parts that it fills. */
  add(chunk: Uint8Array): Generator<Buffer>;
  /** What fills no part yet; it stays. */
  rest(): Buffer;
}

/** @param rest what fills no part yet, less than `partBytes` */
export function gatheredParts(partBytes: number, rest: Uint8Array = Buffer.alloc(0)): GatheredParts {
  let chunks: Uint8Array[] = [rest];
  let bytes = rest.length;
  return {
    *add(chunk) {
      let left = chunk;
      while (bytes + left.length >= partBytes) {
        const taken = left.subarray(0, partBytes - bytes);
        left = left.subarray(taken.length);
        const part = Buffer.concat([...chunks, taken]);
        chunks = [];
        bytes = 0;
        yield part;
      }
      if (left.length === 0) return;
      chunks.push(Buffer.from(left));
      bytes += left.length;
    },
    rest: () => Buffer.concat(chunks),
  };
}
