import type { ByteRange } from '../blob/blob-store.ts';

/** The texts around the parts of a `multipart/byteranges` (RFC 9110, 14.6). */
export interface Multipart {
  type: string;
  /** Of all of it, texts and parts. */
  sizeBytes: number;
  /** What goes before each of the parts. */
  heads: readonly string[];
  tail: string;
}

export function multipart(
  parts: readonly ByteRange[],
  { boundary, type, sizeBytes }: { boundary: string; type: string; sizeBytes: number },
): Multipart {
  const heads = parts.map(
    ({ start, end }) =>
      `\r\n--${boundary}\r\nContent-Type: ${type}\r\nContent-Range: bytes ${start}-${end}/${sizeBytes}\r\n\r\n`,
  );
  const tail = `\r\n--${boundary}--\r\n`;
  const texts = [...heads, tail].reduce((sum, text) => sum + text.length, 0);
  const bytes = parts.reduce((sum, { start, end }) => sum + end - start + 1, 0);
  return { type: `multipart/byteranges; boundary=${boundary}`, sizeBytes: texts + bytes, heads, tail };
}
