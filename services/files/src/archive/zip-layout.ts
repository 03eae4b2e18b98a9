import {
  centralHeader,
  centralHeaderBytes,
  type Directory,
  endBytes,
  endRecords,
  localHeader,
  localHeaderBytes,
  type ZipItem,
} from './zip-records.ts';

/** A stretch of a ZIP file: some of its records, or the bytes of one of its files. */
export interface Piece {
  offset: number;
  sizeBytes: number;
  content: { item: number } | { records: (crc32Of: (item: number) => number) => Buffer };
}

export interface ZipLayout {
  sizeBytes: number;
  /** One behind the other, without gaps. */
  pieces: readonly Piece[];
}

/**
 * Where everything is in a ZIP file of these files, none of them compressed: known from their names and sizes alone, so
 * that any part of it can be made by itself. What does not fit into 32 bits is told the ZIP64 way.
 */
export function zipLayout(items: readonly ZipItem[]): ZipLayout {
  const pieces: Piece[] = [];
  let sizeBytes = 0;
  const add = (bytes: number, content: Piece['content']): number => {
    const offset = sizeBytes;
    if (bytes > 0) pieces.push({ offset, sizeBytes: bytes, content });
    sizeBytes += bytes;
    return offset;
  };
  const offsets = items.map((item, index) => {
    const records = (crc32Of: (item: number) => number) => localHeader(item, crc32Of(index));
    const offset = add(localHeaderBytes(item), { records });
    add(item.sizeBytes, { item: index });
    return offset;
  });
  const directoryAt = sizeBytes;
  for (const [index, item] of items.entries()) {
    const offset = offsets[index] ?? 0;
    const records = (crc32Of: (item: number) => number) => centralHeader(item, crc32Of(index), offset);
    add(centralHeaderBytes(item, offset), { records });
  }
  const directory: Directory = {
    entries: items.length,
    sizeBytes: sizeBytes - directoryAt,
    offset: directoryAt,
  };
  add(endBytes(directory), { records: () => endRecords(directory) });
  return { sizeBytes, pieces };
}
